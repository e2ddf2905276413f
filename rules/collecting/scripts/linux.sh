os=linux
release=$(uname -r)
case $release in 2.[0-6].* | *.el[3-6]*) variant=linux-old ;; *) variant=linux ;; esac
shell=/bin/sh
processes="ps -e -o pid= -o ppid="
PATH=$PATH:/usr/bin:/bin:/usr/sbin:/sbin
zone_of_host() {
  if test -s /etc/timezone; then cat /etc/timezone; else readlink /etc/localtime | sed 's/.*zoneinfo\///'; fi
}
