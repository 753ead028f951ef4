"""What the service and its clients say to each other: requests, answers, errors, and classes as keys."""
