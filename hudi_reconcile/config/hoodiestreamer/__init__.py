"""HoodieStreamer's `.properties` files as a config."""
