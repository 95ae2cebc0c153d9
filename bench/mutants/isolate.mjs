import {spawn} from 'node:child_process';
import {tmpdir} from 'node:os';
import {readProc} from '../lib/proc.mjs';

/** A changed program may fill the memory: it is ended before the machine has none left. */
const MIN_AVAILABLE_KIB = 2 * 1024 * 1024;
const LOOK_EVERY_MS = 1000;
const MAX_OUTPUT_CHARACTERS = 4000;

/**
 * Changed code may signal every process it sees or remove every file: it gets process ids and a temporary directory of
 * its own, and a disk of which only the tree can be written. The shell is the first process: it collects orphans, and
 * all others end with it.
 */
const ENTER = `set -e
home="$1" tree="$2" package="$3" temporary="$4"
shift 4
inner="$home/tmp/\${home##*/}/tree"
mkdir -p "$inner" "$home/upper" "$home/work"
mount --make-rprivate /
mount --bind "$tree" "$inner"
mount -t overlay -o "lowerdir=$package/node_modules,upperdir=$home/upper,workdir=$home/work" none "$inner/node_modules"
mount --rbind "$home/tmp" "$temporary"
mount -o remount,bind,ro /
cd "$tree"
set +e
"$@"
exit $?`;
const UNSHARE = ['--pid', '--fork', '--kill-child', '--mount-proc', '--mount'];
const AS_ROOT = ['--user', '--map-root-user'];

/** Runs a command in a tree: `{code, output}`, with `ended: 'time' | 'memory'` when it was not left to end by itself. */
export function runIsolated(argv, {home, tree, packagePath, limitMs}) {
	const shell = ['sh', '-c', ENTER, 'sh', home, tree, packagePath, tmpdir(), ...argv];
	const flags = process.getuid() === 0 ? UNSHARE : [...AS_ROOT, ...UNSHARE];
	const child = spawn('unshare', [...flags, '--', ...shell], {stdio: ['ignore', 'pipe', 'pipe']});
	let output = '';
	let ended;
	const end = why => {
		ended ??= why;
		child.kill('SIGKILL');
	};
	for (const stream of [child.stdout, child.stderr])
		stream.on('data', data => {
			output = (output + data).slice(-MAX_OUTPUT_CHARACTERS);
		});
	const endNow = () => child.kill('SIGKILL');
	process.prependOnceListener('exit', endNow);
	const timer = setTimeout(() => end('time'), limitMs);
	const watch = setInterval(() => {
		if (availableKib() < MIN_AVAILABLE_KIB) end('memory');
	}, LOOK_EVERY_MS);
	return new Promise((resolve, reject) => {
		child.once('error', reject);
		child.once('close', code => {
			clearTimeout(timer);
			clearInterval(watch);
			process.off('exit', endNow);
			resolve({code, output, ended});
		});
	});
}

function availableKib() {
	return Number(/^MemAvailable: +(\d+)/m.exec(readProc('meminfo'))[1]);
}
