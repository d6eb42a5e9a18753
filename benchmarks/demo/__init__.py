"""Run the main job end to end with real transfers: history, logs, a release, a recommendation used by a transfer."""
