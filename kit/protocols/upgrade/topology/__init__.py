"""The topology upgrade: from a topology that gossip tells to one that group 0 keeps."""
