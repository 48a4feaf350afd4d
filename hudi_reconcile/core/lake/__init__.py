"""What a lake table demands of its writers: locks, ownership of tables and options, catalogs; and what its errors mean."""
