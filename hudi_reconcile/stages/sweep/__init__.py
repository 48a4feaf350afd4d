"""A sweep: two looks at both sides, and the plan that would repair what differs twice."""
