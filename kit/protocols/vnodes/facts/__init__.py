"""What pictures and texts need to know of reads and writes on a vnode range."""
