const shell = (script, rest = {}) => ({argv: ['/bin/sh', '-c', script], ...rest});

/** Kinds of programs, well-behaved and not; each takes a mark of digits and bears it in its arguments. */
export const WORKLOADS = {
	short: {weight: 4, start: mark => shell(`printf x; exit 3 # ${mark}`)},
	shortOnTerminal: {weight: 2, start: mark => shell(`printf x; exit 3 # ${mark}`, {tty: true})},
	sleep: {weight: 3, start: mark => ({argv: ['sleep', mark]})},
	sleepOnTerminal: {weight: 3, start: mark => ({argv: ['sleep', mark], tty: true})},
	reader: {weight: 1, start: mark => shell(`cat; : ${mark}`, {pipeStdin: true})},
	deaf: {weight: 2, start: mark => shell(`trap '' HUP INT TERM PIPE; sleep ${mark}; : ${mark}`, {tty: true})},
	background: {weight: 3, start: mark => shell(`sleep ${mark} & sleep ${mark} & wait # ${mark}`)},
	backgroundOnTerminal: {
		weight: 2,
		start: mark => shell(`trap '' HUP; sleep ${mark} & sleep ${mark} & wait # ${mark}`, {tty: true}),
	},
	leftBehind: {weight: 2, start: mark => shell(`sleep ${mark} & exit # ${mark}`)},
	setsid: {weight: 2, start: mark => shell(`setsid sleep ${mark} & sleep ${mark} & wait # ${mark}`)},
	setsidOnTerminal: {weight: 2, start: mark => shell(`setsid sleep ${mark}; : ${mark}`, {tty: true})},
	deep: {weight: 2, start: mark => shell(`sh -c "sh -c 'sleep ${mark}; : ${mark}'; : ${mark}"; : ${mark}`)},
	deepSetsid: {
		weight: 2,
		start: mark => shell(`setsid sh -c "setsid sh -c 'sleep ${mark}; : ${mark}'; : ${mark}" & wait # ${mark}`),
	},
	restless: {weight: 2, start: mark => shell(`while :; do sleep 0.0${mark}; done # ${mark}`)},
	flood: {weight: 2, start: mark => ({argv: ['yes', mark]})},
	floodOnTerminal: {weight: 1, start: mark => ({argv: ['yes', mark], tty: true})},
	// Daemons: they leave their parent, their group and their session for good.
	daemon: {weight: 2, start: mark => shell(`setsid -f sleep ${mark}; sleep ${mark}`)},
	daemonAlone: {weight: 2, start: mark => shell(`setsid -f sleep ${mark} # ${mark}`)},
	daemonOnTerminal: {weight: 1, start: mark => shell(`setsid -f sleep ${mark}; sleep ${mark}`, {tty: true})},
	daemonTree: {
		weight: 2,
		start: mark => shell(`setsid -f sh -c "setsid -f sleep ${mark}; sleep ${mark} & wait # ${mark}"; sleep ${mark}`),
	},
	daemonsForEver: {
		weight: 1,
		start: mark => shell(`while :; do setsid -f sleep ${mark}; sleep 0.0${mark}; done # ${mark}`),
	},
};
