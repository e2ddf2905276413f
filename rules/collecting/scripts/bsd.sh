os=$(uname -s | tr 'A-Z' 'a-z')
release=$(uname -r)
variant=freebsd
shell=/bin/sh
processes="ps -ax -o pid= -o ppid="
PATH=$PATH:/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/usr/local/sbin
zone_of_host() {
  if test -s /var/db/zoneinfo; then cat /var/db/zoneinfo; else readlink /etc/localtime | sed 's/.*zoneinfo\///'; fi
}
