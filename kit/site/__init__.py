"""The page that needs nothing: pages whose engine runs in a worker of the browser."""
