// Linux only: /proc and control groups.

/** In the command line of the watchdog. Without the name of this program: `pkill -f` with it must not end both. */
export const WATCHDOG_NAME = 'exec-server-watchdog';
/** Line that announces an orderly exit of the server. */
export const GOODBYE = 'goodbye';
/** Line before the list of told processes is sent anew. */
export const FORGET = 'forget';
/** Shortest pause between two looks; the socket on descriptor 3 has it as its receive timeout. */
export const PAUSE_MS = 50;

/** Rounds in a row that find nothing, before the watchdog ends. Four pauses each. */
const CALM_ROUNDS = 8;
/** The same after an orderly exit, which has ended everything already. */
const CALM_ROUNDS_AFTER_GOODBYE = 2;
/** Bounds work without success, such as a /proc that cannot be read. */
const MAX_ROUNDS = 2000;
/** Looks for further processes before those found are killed. */
const MAX_LOOKS = 20;
/** Rounds after which processes that are not ours are looked at again: the kernel may have given their ids to others. */
const FORGET_ROUNDS = 8;
const MAX_CHASE_STEPS = 5000;
/** Reads in a row without a new process that end a chase: some tens of milliseconds. */
const MAX_CHASE_WAITS = 1000;
/** New processes in a row that are not ours and end a chase. */
const MAX_CHASE_STRANGERS = 300;
/** Reads of the newest process in one probe: some milliseconds. */
const MAX_PROBE_READS = 300;
/** New processes that one probe checks for a mark. */
const MAX_PROBE_CANDIDATES = 20;
/** Digits of a mark, as in `descendant-tags.ts`. */
const MARK_PATTERN = '?'.repeat(19);
/** All but SIGKILL, SIGSTOP, SIGCONT and those the C library keeps for itself. */
const IGNORED_SIGNALS = Array.from({length: 64}, (_, index) => index + 1).filter(
	number => ![9, 18, 19, 32, 33, 34].includes(number),
);

/**
 * POSIX shell program that waits for the end of its input, which comes when the server exits for any reason, and then
 * kills everything that came from it. It uses builtins only: a fork fails when no processes are left. Arguments: pid and
 * session of the server, its start time, prefix of the tags, mark of the server or `-`, control group or nothing. Lines
 * of its input are `PID START` of processes that carry no mark.
 *
 * A process is ours if it was told, carries a mark, or has a parent or session leader that is ours. Processes are stopped
 * as they are found and killed when no more turn up: a parent killed early would leave its children without a trace.
 */
export const WATCHDOG_SCRIPT = `
server=$1 own_session=$2 since=$3 prefix=$4 mark=$5 group=$6
for signal in ${IGNORED_SIGNALS.join(' ')}; do trap '' $signal; done
told=' ' seen=' ' foreign=' ' newest= needed=${CALM_ROUNDS} calm=0 rounds=0
# A replaced watchdog is started by a server in the group.
[ -z "$group" ] || echo $$ >"\${group%/*}/cgroup.procs"

# Sets the fields of a process; false when it is gone or a zombie. Its name may hold line feeds and parentheses. The first
# thread of a process may end before the others: the process lives on and looks like a zombie.
describe() {
	stat=
	while read -r line; do stat="$stat $line"; done </proc/$1/stat
	[ -n "$stat" ] || return 1
	set -- \${stat##*) }
	parent=$2 members=$3 session=$4 start=\${20}
	case $1 in Z | X) [ \${18} -gt 1 ] ;; esac
}

# True for a mark of the server.
is_marked() {
	time_limits= lock_limits=
	while read -r _ name what soft hard _; do
		case "$name $what" in
			'file locks') lock_limits="$soft $hard" ;;
			'realtime timeout') time_limits="$soft $hard" ;;
		esac
	done </proc/$1/limits
	case " $time_limits" in *" $prefix"*) return 0 ;; esac
	case " $lock_limits " in *" $mark "*) return 0 ;; esac
	return 1
}

# True for limits that only a process that lowered both marks can have; after \`is_marked\`.
is_lowered() {
	[ "$mark" != - ] || return 1
	case \${lock_limits#* } in '' | unlimited | ${MARK_PATTERN}) return 1 ;; esac
	case \${time_limits#* } in '' | unlimited | ${MARK_PATTERN}) return 1 ;; esac
}

# Whether the described process is ours.
is_ours() {
	case $told in *" $1:$start "*) return 0 ;; esac
	case $seen in *" $parent:"* | *" $session:"*) return 0 ;; esac
	[ "$start" -ge "$since" ] || return 1
	# It may have come from another server, unless it lost its parent as this process did.
	is_marked $1 || { [ "$parent" = "$reaper" ] && is_lowered; }
}

look() {
	added= is_whole=
	for directory in /proc/[0-9]*; do
		pid=\${directory#/proc/}
		case $foreign in *" $pid "*) continue ;; esac
		describe $pid || continue
		if [ $pid = $$ ]; then
			is_whole=1 reaper=$parent
			continue
		fi
		case $seen in *" $pid:$start "*) continue ;; esac
		if is_ours $pid; then
			kill -s STOP $pid
			seen="$seen$pid:$start "
			added=1
		else
			foreign="$foreign$pid "
		fi
	done
}

# Groups die at once, also while they fork. All members of a session come from its leader.
kill_seen() {
	living=' '
	for entry in $seen; do
		pid=\${entry%:*}
		describe $pid && [ "$start" = "\${entry#*:}" ] || continue
		kill -s KILL $pid
		[ "$session" = "$own_session" ] || [ "$members" -le 1 ] || kill -s KILL -- -$members
		living="$living$entry "
	done
	seen=$living
}

kill_group() {
	[ -n "$group" ] || return
	[ ! -e "$group/freezer.state" ] || echo FROZEN >"$group/freezer.state"
	while read -r pid; do
		[ "$pid" != 0 ] || continue
		kill -s KILL $pid
		is_busy=1
	done <"$group/cgroup.procs"
	[ ! -e "$group/cgroup.kill" ] || echo 1 >"$group/cgroup.kill"
	[ ! -e "$group/freezer.state" ] || echo THAWED >"$group/freezer.state"
}

# The process that was started last, on this machine or in this container.
read_newest() { read -r _ _ _ _ newest </proc/loadavg; }

# False for a thread. A signal to a thread stops its whole process, which could not be continued once the thread has ended.
is_process() {
	group_leader=
	{ read -r _ && read -r _ && read -r _ && read -r _ group_leader _; } </proc/$1/status
	[ "$group_leader" = $1 ]
}

# A process that forks and exits faster than a look takes is the newest one, again and again. It is stopped before its marks
# are read, and so are others that are started at the same moment, for less than a millisecond.
chase() {
	steps=0 waits=0 strangers=0
	while [ $steps -lt ${MAX_CHASE_STEPS} ] && [ $strangers -lt ${MAX_CHASE_STRANGERS} ]; do
		before=$newest
		read_newest
		if [ "$newest" = "$before" ]; then
			waits=$((waits + 1))
			[ $waits -lt ${MAX_CHASE_WAITS} ] || break
			continue
		fi
		steps=$((steps + 1)) strangers=$((strangers + 1)) waits=0
		[ "$newest" != $$ ] && is_process $newest && kill -s STOP $newest || continue
		if is_marked $newest || { is_lowered && describe $newest && [ "$parent" = "$reaper" ]; }; then
			kill -s KILL $newest
			strangers=0 calm=0
		else
			kill -s CONT $newest
		fi
	done
}

pause() {
	read -r -t ${PAUSE_MS / 1000} line <&3
	# The shell does not know the option: the timeout of the socket ends the read.
	[ $? != 2 ] || read -r line <&3
}

# A process of ours that was started during a pause or a look may be gone before the next look. If the newest one is gone
# already, it may have been ours: its successors are checked for a while. Only a mark starts a chase, which stops strangers.
probe() {
	reads=0 candidates=0
	while [ $reads -lt ${MAX_PROBE_READS} ] && [ $candidates -lt ${MAX_PROBE_CANDIDATES} ]; do
		reads=$((reads + 1)) before=$newest
		read_newest
		if [ "$newest" = "$before" ] || [ "$newest" = $$ ]; then
			[ $candidates -gt 0 ] || return
			continue
		fi
		candidates=$((candidates + 1))
		if is_marked $newest || is_lowered; then
			calm=0
			chase
			return
		fi
		[ ! -e /proc/$newest ] || return
	done
}

pause_and_probe() {
	pause
	probe
}

while :; do
	while read -r pid start; do
		case $pid in
			${FORGET}) told=' ' ;;
			${GOODBYE}) needed=${CALM_ROUNDS_AFTER_GOODBYE} ;;
			*) told="$told$pid:$start " ;;
		esac
	done
	# The end of the input counts only if the server is gone. A server that is not gets another watchdog.
	if describe $$; then
		reaper=$parent
		[ "$parent" = "$server" ] && describe $server || break
	fi
	rounds=$((rounds + 1))
	[ $rounds -lt ${MAX_ROUNDS} ] || exit 0
	pause
done

rounds=0
# Killing the group would end this process, too.
[ -z "$group" ] || while read -r pid; do [ "$pid" != $$ ] || group=; done <"$group/cgroup.procs"
while [ $calm -lt $needed ] && [ $rounds -lt ${MAX_ROUNDS} ]; do
	rounds=$((rounds + 1)) looks=0 is_busy=
	[ $((rounds % ${FORGET_ROUNDS})) != 0 ] || foreign=' '
	kill_group
	# A look takes long where there are many processes: those that fork and exit all the time are ended before.
	probe
	while look; [ -n "$added" ] && [ $looks -lt ${MAX_LOOKS} ]; do
		looks=$((looks + 1)) is_busy=1
	done
	kill_seen
	if [ -n "$is_busy" ]; then
		calm=0 needed=${CALM_ROUNDS}
		pause_and_probe
		continue
	fi
	[ -z "$is_whole" ] || calm=$((calm + 1))
	[ $calm -lt $needed ] || break
	for step in 1 2 3 4; do pause_and_probe; done
done
[ -z "$group" ] || exec /bin/rmdir "$group"
`;
