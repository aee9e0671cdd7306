"""The join handshake: a node asks to be let into group 0."""
