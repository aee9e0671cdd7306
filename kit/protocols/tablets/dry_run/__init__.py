"""The balancer, resize decisions and losses on the tablets of somebody's own cluster."""
