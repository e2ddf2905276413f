usage() {
  cat <<'USAGE'
Collect evidence on this host for Exhibit. It reads counters, lists and logs; it installs and changes nothing.
  -n          print what would run, and stop
  -y          run it without asking
  -s          run also what slows processes or the kernel (asked by a room, never in the standard set)
  -p PID      the process for commands that need one
  -m SECONDS  time limit of all commands together (usual: 600)
  -d MIB      size limit of all output together (usual: 64)
  -o FOLDER   where to work (usual: $TMPDIR or /tmp)
  -k FILE     file that holds the room's token and nothing else
  -u          send nothing, leave one file to carry
  -r FOLDER   go on with a run that was broken off
The room's address is in EXHIBIT_ROOM, its token in EXHIBIT_TOKEN, in the file of -k, or typed when asked.
USAGE
}

say() { printf '%s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }
stamp() { date -u +%Y-%m-%dT%H:%M:%SZ; }

# Seconds since 2020: `date +%s` is not on every system.
now_s() {
  set -- $(date -u '+%Y %j %H %M %S')
  day=${2#0}; day=${day#0}; hour=${3#0}; minute=${4#0}; second=${5#0}
  echo $((((($1 - 2020) * 365 + ($1 - 2017) / 4 + day - 1) * 24 + hour) * 3600 + minute * 60 + second))
}

# Fields of a step: code, seconds, apart, risk, needs, zone, command.
step() {
  IFS='|' read -r code seconds apart risk needs clock command <<STEP
$(catalogue | grep "^$1|")
STEP
  test -n "$command"
}

is_sampler() {
  case $1 in vmstat\ * | mpstat\ * | iostat\ * | sar\ *) return 0 ;; esac
  return 1
}

# Why a step cannot run here; nothing if it can.
hindrance() {
  case $needs in
    *root*) test "$uid" = 0 || { say "needs root"; return; } ;;
  esac
  case $command in
    *PID*) test -n "$pid" || { say "needs a process: -p PID"; return; } ;;
  esac
  test "$risk" != some || test -n "$slowing" || { say "slows the host: only with -s"; return; }
  tool=${command%% *}
  test "$tool" != timeout || { tool=${command#*INT }; tool=${tool#* }; tool=${tool%% *}; }
  command -v "$tool" > /dev/null 2>&1 || say "not here: $tool"
}

show_plan() {
  say "On $host ($os $release, zone $zone), as user $uid, with nice 10:"
  for one in $plan; do
    step "$one"
    why=$(hindrance)
    if test -n "$why"; then say "  left out ($why): $command"; else
      say "  $command$(test "$apart" = 0 || echo ", twice, $apart s apart")   [at most $seconds s, risk $risk]"
    fi
  done
  test -z "$by_hand" || say "  The room asks for $by_hand more that a person must collect: see its page of requests."
  say "At most $most_s s and $most_mib MiB in all, in $work"
  if test -n "$token"; then say "Then sent by $sender to $room"; else say "Then one file to carry; nothing is sent."; fi
}

# --- run ------------------------------------------------------------------------------------------------------------

# Begin a step in the background; its end stamp and status are in CODE.status once it is over.
begin() {
  part=$work/$code.part
  own=UTC
  test "$clock" = utc || own=$zone
  what=$command
  test -z "$pid" || what=$(printf '%s\n' "$what" | sed "s/PID/$pid/g")
  say "#-- exhibit begin $(stamp) tz=$own os=$os release=$release host=$host run: $what" > "$part"
  case $what in *FILE*) what="$(printf '%s\n' "$what" | sed "s/FILE/$code.out/g"); cat $code.out; rm -f $code.out" ;; esac
  test "$apart" = 0 || what="date -u; $what; sleep $apart; date -u; $what"
  (
    cd "$work" || exit 1
    ulimit -f $((most_mib * 1024)) # blocks of 512 bytes: half of the whole for one tool
    nice -n 10 "$shell" -c "$what" < /dev/null >> "$part" 2>&1
    ended=$?
    echo "$(stamp) $ended" > "$code.ended" && mv "$code.ended" "$code.status"
  ) &
  echo "$! $(($(now_s) + seconds))" > "$work/$code.running"
}

# The process and all that it started.
tree() {
  $processes | awk -v top="$1" '{ up[$1] = $2 }
    END { for (p in up) { q = p; n = 0; while (q != top && (q in up) && n++ < 64) q = up[q]; if (q == top) print p } }'
}

stop_step() {
  victims=$(tree "$1")
  kill $victims 2> /dev/null
  sleep 1
  kill -9 $victims 2> /dev/null
}

used_kib() { du -sk "$work" 2> /dev/null | awk '{ print $1 }'; }

# Wait for a step; stop it at its limit, or when the time or the size of the whole is used up.
finish() {
  read -r process until < "$work/$code.running"
  while test ! -s "$work/$code.status"; do
    now=$(now_s)
    if test "$now" -ge "$until" || test "$now" -ge "$deadline" || test "$(used_kib)" -gt $((most_mib * 1024)); then
      stop_step "$process"
      test -s "$work/$code.status" || echo "$(stamp) 143" > "$work/$code.status"
      say "  stopped: $command"
      echo >> "$work/$code.part"
    else
      sleep 1
    fi
  done
  wait "$process" 2> /dev/null
  rm -f "$work/$code.running" "$work/$code.out"
  read -r ended status < "$work/$code.status"
  say "#-- exhibit end $ended status=$status" >> "$work/$code.part"
}

collect() {
  deadline=$(($(now_s) + most_s))
  sampling=
  for kind in samplers others; do
    for one in $plan; do
      step "$one"
      if is_sampler "$command"; then test $kind = samplers || continue; else test $kind = others || continue; fi
      if grep '^#-- exhibit end ' "$work/$one.part" > /dev/null 2>&1; then say "  there already: $command"; continue; fi
      rm -f "$work/$one".*
      why=$(hindrance)
      if test -n "$why"; then echo "$why: $command" > "$work/$one.left"; continue; fi
      if test "$(now_s)" -ge "$deadline"; then echo "no time left: $command" > "$work/$one.left"; continue; fi
      if test "$(used_kib)" -gt $((most_mib * 1024)); then echo "no room left: $command" > "$work/$one.left"; continue; fi
      say "  $command"
      begin
      if test $kind = samplers; then sampling="$sampling $one"; else finish; fi
    done
  done
  for one in $sampling; do step "$one"; finish; done
}

# --- server: clock, wishes, upload --------------------------------------------------------------------------------------

# http METHOD ADDRESS BODY [HEADER...]: status in $answered, headers in $work/head, body in $work/body. The token is in a
# file that only this user reads, never in an argument. POST carries other methods for old versions of wget.
http() {
  method=$1; address=$2; body=$3; shift 3
  rm -f "$work/head" "$work/body"
  if test "$sender" = curl; then
    for header in "$@"; do set -- "$@" -H "$header"; shift; done
    if test "$method" = GET; then set -- "$@" -X GET; else set -- "$@" -X POST --data-binary "@$body"; fi
    curl -sS -K "$work/secret" -D "$work/head" -o "$work/body" --connect-timeout 20 --max-time 600 "$@" "$address" \
      2> "$work/said"
  else
    for header in "$@"; do set -- "$@" "--header=$header"; shift; done
    test "$method" = GET || set -- "$@" "--post-file=$body"
    WGETRC=$work/secret wget -S -O "$work/body" --tries=1 --timeout=60 "$@" "$address" 2> "$work/head"
    cp "$work/head" "$work/said"
  fi
  answered=$(tr -d '\r' < "$work/head" 2> /dev/null | sed -n 's/^ *HTTP\/[0-9.]* \([0-9][0-9][0-9]\).*/\1/p' | tail -1)
}

header() { tr -d '\r' < "$work/head" | awk -v name="$1:" 'tolower($1) == name { $1 = ""; sub(/^ /, ""); v = $0 } END { print v }'; }

# What the server answered, without what could drive a terminal.
words() { cat "$work/body" "$work/said" 2> /dev/null | dd bs=300 count=1 2> /dev/null | tr -cd '[:print:]'; }

# The server's clock between two readings of ours, and with it what the room wants of this host.
beacon() {
  test -n "$token" || return 0
  before=$(stamp)
  http GET "$room/wanted/?os=$os&release=$release&host=$host" /dev/null
  after=$(stamp)
  theirs=$(sed -n 's/^time \([0-9TZ:.-]*\)$/\1/p' "$work/body" 2> /dev/null)
  test -n "$theirs" && test "$answered" = 200 || return 1
  by=${room#*://}
  say "#-- exhibit clock $before $after server=$theirs by=${by%%/*}" >> "$work/clock"
}

encoded() {
  say "$1" | awk '{
    for (i = 32; i < 127; i++) code[sprintf("%c", i)] = i
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for (i = 1; i <= length($0); i += 3) {
      n = code[substr($0, i, 1)] * 65536 + code[substr($0, i + 1, 1)] * 256 + code[substr($0, i + 2, 1)]
      four = ""
      for (k = 0; k < 4; k++) { four = substr(digits, n % 64 + 1, 1) four; n = int(n / 64) }
      left = length($0) - i + 1
      if (left == 1) four = substr(four, 1, 2) "=="
      if (left == 2) four = substr(four, 1, 3) "="
      printf "%s", four
    } }'
}

# The bytes of $file from $1 on, at most four mebibytes.
piece() {
  {
    test $(($1 / 1048576)) -eq 0 || dd bs=1048576 count=$(($1 / 1048576)) of=/dev/null
    test $(($1 % 1048576)) -eq 0 || dd bs=$(($1 % 1048576)) count=1 of=/dev/null
    dd bs=1048576 count=4
  } < "$file" 2> /dev/null > "$work/piece"
}

# Send the file in pieces; after a break the server says how far it got (tus 1.0).
ship() {
  origin=${room%%/api/*}
  size=$(wc -c < "$file" | tr -d ' ')
  tries=0
  : > "$work/nothing"
  while test $tries -lt $most_tries; do
    if test ! -s "$work/upload"; then
      http POST "$room/uploads/" "$work/nothing" "Tus-Resumable: 1.0.0" "Upload-Length: $size" \
        "Upload-Metadata: filename $(encoded "${file##*/}")"
      test "$answered" = 201 && header location > "$work/upload"
      offset=0
    else
      http POST "$origin$(cat "$work/upload")" "$work/nothing" "Tus-Resumable: 1.0.0" "X-HTTP-Method-Override: HEAD"
      offset=$(header upload-offset)
      # A server that forgot the upload: begin again.
      test "$answered" != 404 || rm -f "$work/upload"
    fi
    while test -s "$work/upload" && test -n "$offset"; do
      number=$(header exhibit-artifact)
      test -z "$number" || { say "Sent: it is artifact $number of the room."; return 0; }
      piece "$offset"
      http POST "$origin$(cat "$work/upload")" "$work/piece" "Tus-Resumable: 1.0.0" "X-HTTP-Method-Override: PATCH" \
        "Upload-Offset: $offset" "Content-Type: application/offset+octet-stream"
      offset=
      test "$answered" != 204 || offset=$(header upload-offset)
    done
    case $answered in 400 | 401 | 403 | 413) break ;; esac
    tries=$((tries + 1))
    say "Not sent yet (${answered:-no answer}); trying again."
    sleep $((tries * pause_s))
  done
  say "Not sent: ${answered:-no answer} $(words)"
  return 1
}

# --- begin --------------------------------------------------------------------------------------------------------------

yes= only_print= slowing= pid= most_s=600 most_mib=64 base=${TMPDIR:-/tmp} token_file= carry= work= by_hand=
most_tries=${EXHIBIT_TRIES:-8} pause_s=${EXHIBIT_PAUSE_S:-5}
while getopts nysp:m:d:o:k:ur:h option; do
  case $option in
    n) only_print=1 ;;
    y) yes=1 ;;
    s) slowing=1 ;;
    p) pid=$OPTARG ;;
    m) most_s=$OPTARG ;;
    d) most_mib=$OPTARG ;;
    o) base=$OPTARG ;;
    k) token_file=$OPTARG ;;
    u) carry=1 ;;
    r) work=$OPTARG ;;
    h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
for number in "${pid:-1}" "$most_s" "$most_mib"; do
  case $number in *[!0-9]* | 0* | '' | ????????*) fail "not a number: $number" ;; esac
done
LC_ALL=C LANG=C S_TIME_FORMAT=ISO
export LC_ALL LANG S_TIME_FORMAT
zone=$(zone_of_host | tr -cd 'A-Za-z0-9_+/-')
case $zone in ?*/?* | UTC | GMT | EST5EDT | CST6CDT | MST7MDT | PST8PDT) ;; *) zone=unknown ;; esac
TZ=UTC0
export TZ
umask 077
uid=$(id -u)
host=$(uname -n | tr -cd 'A-Za-z0-9_.-')
room=${EXHIBIT_ROOM:-$room}
room=${room%/}

token=
if test -z "$carry" && test -n "$room"; then
  token=${EXHIBIT_TOKEN:-}
  test -z "$token_file" || token=$(cat "$token_file") || exit 1
  if test -z "$token" && test -t 0; then
    printf 'Token of the room (empty: send nothing): '
    stty -echo; read -r token; stty echo
    echo
  fi
  case $token in *[!A-Za-z0-9_-]*) fail "This is no token: it has letters, digits, - and _ only." ;; esac
fi
unset EXHIBIT_TOKEN
sender=
if command -v curl > /dev/null 2>&1; then sender=curl; elif command -v wget > /dev/null 2>&1; then sender=wget; fi
if test -n "$token" && test -z "$sender"; then say "Neither curl nor wget is here: nothing is sent."; token=; fi

if test -n "$work"; then
  test -s "$work/plan" || fail "There is no run in $work"
  work=$(cd "$work" && pwd) || exit 1
else
  work=$base/exhibit-$host-$(date -u +%Y%m%dT%H%M%SZ)-$$
  mkdir "$work" || exit 1
fi
free_kib=$(df -k -P "$work" | awk 'NR == 2 { print $4 }')
if test "${free_kib:-0}" -lt $((most_mib * 3072)); then
  fail "Too little space: $work has ${free_kib:-0} KiB free, this may need $((most_mib * 3072)). Choose -o or a smaller -d."
fi
cleanup() { rm -f "$work/secret" "$work/piece" "$work/head" "$work/body" "$work/said" "$work/nothing"; }
broken() {
  for running in "$work"/*.running; do
    test -f "$running" && read -r process until < "$running" && stop_step "$process"
  done
  cleanup
  say "Broken off. Go on with: $0 -r $work"
  exit 130
}
trap broken INT TERM HUP
trap cleanup EXIT
if test -z "$token"; then :; elif test "$sender" = curl; then say "header = \"Authorization: Bearer $token\"" > "$work/secret"; else
  say "header = Authorization: Bearer $token" > "$work/secret"
fi

if test ! -s "$work/plan"; then
  if ! beacon; then
    say "The room does not answer (${answered:-no connection}): $(words) Nothing will be sent."
    token=
  fi
  wanted=
  if test -n "$token"; then
    wanted=$(sed -n 's/^want \([0-9a-f]*\)$/\1/p' "$work/body")
    by_hand=$(sed -n 's/^by-hand \([1-9][0-9]*\)$/\1/p' "$work/body")
  fi
  plan=
  for one in $(standard) $wanted; do
    case " $plan " in *" $one "*) continue ;; esac
    if step "$one"; then plan="$plan $one"; else say "The room wants a command that this script does not know: fetch it anew."; fi
  done
else
  plan=$(cat "$work/plan")
fi
show_plan
if test -n "$only_print"; then rm -rf "$work"; exit 0; fi
if test -z "$yes"; then
  printf 'Run this? (yes/no) '
  read -r answer || answer=no
  case $answer in y | yes) ;; *) rm -rf "$work"; say "Nothing was run."; exit 0 ;; esac
fi
echo $plan > "$work/plan"

file=$(ls "$work"/exhibit-*.txt 2> /dev/null)
if test -z "$file"; then
  collect
  beacon || say "The server's clock did not answer at the end."
  file=$work/exhibit-$host-$(date -u +%Y%m%dT%H%M%SZ).txt
  {
    say "collected by Exhibit"
    cat "$work/clock" 2> /dev/null
    for one in $plan; do cat "$work/$one.part" "$work/$one.left" 2> /dev/null; done
  } > "$work/whole"
  mv "$work/whole" "$file"
fi
if test -z "$token"; then say "Carry this file to the room: $file"; exit 0; fi
if ship; then rm -rf "$work"; else
  say "Carry this file to the room: $file"
  say "Or go on later with: $0 -r $work"
  exit 1
fi
