"""What commits did to a table's rows, by its file versions, the states of its file groups, or Hudi's own change log."""
