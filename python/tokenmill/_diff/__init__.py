"""What ``tokenmill.diff`` is made of: inputs, conversations, and lists of what differs."""
