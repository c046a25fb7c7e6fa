"""What ``tokenmill.report`` measures, draws and writes."""
