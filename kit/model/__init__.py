"""What a model is and how parts make one; a run of it as timeline, trace and scenario."""
