# nginx with its usual master and workers. It reads no variables, so its configuration is written with $PORT;
# DAEMON=on is its own default.
folder="$PWD/nginx-$PORT"
mkdir -p "$folder"
cat > "$folder/nginx.conf" <<CONF
daemon ${DAEMON:-off};
user root;
worker_processes 2;
pid nginx.pid;
error_log stderr;
events {}
http {
  access_log /proc/self/fd/1;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  server {
    listen 127.0.0.1:$PORT;
    root $PWD/www;
  }
}
CONF
exec nginx -p "$folder" -c nginx.conf -e stderr
