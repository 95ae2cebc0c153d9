import {scratch, token} from './workspace.mjs';

const PROCESS_ENVIRONMENT = Object.freeze({PATH: '/usr/bin:/bin', LONGARM_FUZZ: token});

const LEAVES_AN_ORPHAN = ['sh', '-c', 'sleep 0.05 & exit 3'];
/** The commands that are started, whole. Cheap, and over soon by themselves or by their time limit. */
const COMMANDS = frozen([
	['/bin/true'],
	['true', 'with', 'arguments'],
	['/bin/false'],
	['printf', 'x'],
	['printf', '%s\\n', '\u{1f980} hello'],
	['printf', '%05000d', '0'],
	['/bin/cat'],
	['cat'],
	['cat', '-'],
	['sleep', '0.02'],
	['sh', '-c', 'printf out; printf err >&2; exit 7'],
	LEAVES_AN_ORPHAN,
	['sh', '-c', 'kill -9 $$'],
	['/nonexistent/program'],
	['no-such-program'],
	['/tmp'],
	[''],
	[],
]);

const COMMANDS_WITHOUT_ORPHAN = COMMANDS.filter(argv => argv !== LEAVES_AN_ORPHAN);
export const KNOWN_COMMANDS = new Set(COMMANDS.map(argv => argv.join('\0')));

export const KNOWN_ARG0 = new Set(['', 'fuzz', '-sh', '\u{1f980}']);

// biome-ignore format: a list to read, not one line each
const DIRECTORIES = [
	`file://${scratch}`, `file://${scratch}`, scratch, 'file:///', '/tmp/', 'file:///nonexistent', 'file:///C:/x',
	'file://host/share', 'file:///%FF%2F..', 'file:///a%00b', 'file:///%00/bad/path/L0M6L3g', 'file:///tmp?',
	'file://localhost/tmp', 'FILE:tmp', 'http://x/', 'relative', '',
];

export function startParams(processId, argv, changes = {}) {
	const env = PROCESS_ENVIRONMENT;
	return {processId, argv, cwd: `file://${scratch}`, env, tty: false, timeoutMs: 1000, ...changes};
}

/** Files are only ever touched under the scratch directory; see `isHarmless`. */
const FILES = ['a.txt', 'link', 'dir', 'dir/b.txt', 'new', 'new/deep/er', '%F0%9F%A6%80', 'x/../a.txt', ''].flatMap(
	name => [`file://${scratch}/${name}`, `${scratch}/${name}`],
);

export const KNOWN_FILES = new Set(FILES);

const SANDBOXES = frozen([
	undefined,
	undefined,
	null,
	{permissions: {type: 'disabled'}, windowsSandboxLevel: 'disabled'},
	{
		permissions: {
			type: 'managed',
			file_system: {
				type: 'restricted',
				entries: [{path: {type: 'path', path: FILES[0]}, access: 'write'}],
			},
			network: 'restricted',
		},
		windowsSandboxLevel: 'restricted-token',
		workspaceRoots: [FILES[0]],
	},
]);

/** An orphan that is stopped lives as long as its session, and rightly so: no story has both. */
const someCommand = ({random, stops}) => random.pick(stops ? COMMANDS_WITHOUT_ORPHAN : COMMANDS);
/** A process that may exist. */
export const someProcess = ({random, started}) =>
	random.chance(0.9)
		? `p${Math.max(0, started - random.int(6))}`
		: random.pick(['', 'none', 'p0', '__proto__', 'x'.repeat(1000)]);

const someFile = ({random}) => random.pick(FILES);

const someSandbox = ({random}) => random.pick(SANDBOXES);

const someBytes = ({random}) => random.bytes(random.int(random.pick([2, 20, 2000]))).toString('base64');

const someSession = ({random, sessions}) =>
	random.pick([undefined, null, '', 'nope', '66af2bc5-9155-45a3-bb6d-49043ecb2b32', ...sessions]);

const someHandle = ({random}) => `h${random.int(4)}`;

const PARAMS = {
	initialize: story => ({clientName: 'fuzz', resumeSessionId: someSession(story)}),
	'environment/info': ({random}) => random.pick([undefined, null, {}]),
	'environment/status': ({random}) => random.pick([undefined, null, {}]),
	'environmentConfig/read': ({random}) => ({
		cwd: `file://${scratch}`,
		configPaths: random.pick([[], [['model']], [[]]]),
		requirementsPaths: [['a', 'b']],
	}),
	'capabilityRoots/discoverV1': story => ({roots: [{id: 'r', path: someFile(story), sandbox: someSandbox(story)}]}),
	'capabilities/discoverV2': story => ({cwd: someFile(story), sandbox: someSandbox(story)}),
	'process/start': story => {
		const {random} = story;
		const changes = {tty: random.chance(0.2), pipeStdin: random.chance(0.5), timeoutMs: random.int(1500)};
		if (random.chance(0.2)) changes.io = random.pick([{pty: {rows: 24, cols: 80}}, {pipe: {stdin: 'open'}}]);
		if (random.chance(0.2)) changes.onDisconnect = random.pick(['endAtOnce', 'endWithSession', {keepForMs: 500}]);
		if (random.chance(0.1)) changes.cwd = random.pick(DIRECTORIES);
		if (random.chance(0.1)) changes.arg0 = random.pick([null, ...KNOWN_ARG0]);
		if (random.chance(0.1)) changes.sandbox = someSandbox(story);
		if (random.chance(0.1)) changes.metadata = {toolCallId: 'call'};
		if (random.chance(0.1)) changes.prepared = true;
		if (random.chance(0.1)) changes.managedNetwork = {loopbackPorts: [1], allowLocalBinding: true};
		if (random.chance(0.05)) changes.networkProxy = {enabled: true};
		if (random.chance(0.2)) {
			const set = {LONGARM_FUZZ: token, A: ''};
			const [exclude, includeOnly] = [['*PASS?*'], random.pick([[], ['*'], ['LONGARM_*', 'PATH']])];
			changes.envPolicy = {
				inherit: random.pick(['core', 'all', 'none']),
				ignoreDefaultExcludes: true,
				exclude,
				set,
				includeOnly,
			};
		}
		const processId = random.chance(0.9) ? `p${++story.started}` : someProcess(story);
		return startParams(processId, someCommand(story), changes);
	},
	'process/read': story => ({
		processId: someProcess(story),
		afterSeq: story.random.pick([undefined, null, 0, 1, 3, 2 ** 53]),
		maxBytes: story.random.pick([undefined, null, 0, 1, 65_536]),
		waitMs: story.random.pick([undefined, null, 0, 1, 50, 2 ** 40]),
	}),
	'process/write': story => ({
		processId: someProcess(story),
		chunk: someBytes(story),
		writeId: story.random.pick([undefined, '1', '2', `w${story.nextId}`, '']),
	}),
	'process/signal': story => ({
		processId: someProcess(story),
		signal: story.random.pick([
			'interrupt',
			...['TERM', 'sigusr1', story.stops ? 'STOP' : 'CONT', 'WINCH', 'no'].map(name => ({name})),
		]),
	}),
	'process/terminate': story => ({
		processId: someProcess(story),
		mode: story.random.pick([undefined, null, 'force', {graceful: {timeoutMs: story.random.int(300)}}]),
	}),
	'process/closeStdin': story => ({processId: someProcess(story)}),
	'process/resize': story => ({processId: someProcess(story), rows: 1 + story.random.int(100), cols: 65_535}),
	'process/wait': story => ({
		processId: someProcess(story),
		timeoutMs: story.random.pick([undefined, null, 0, 1, 50, 2 ** 40]),
	}),
	'process/snapshot': story => ({processId: someProcess(story)}),
	'process/list': ({random}) => random.pick([undefined, null, {}]),
	'command/exec': story => ({
		argv: someCommand(story),
		cwd: story.random.pick([scratch, ...DIRECTORIES]),
		env: PROCESS_ENVIRONMENT,
		tty: story.random.chance(0.3),
		arg0: story.random.pick([undefined, null, 'fuzz']),
	}),
	'command/exec/write': story => ({sessionId: `session-${story.random.int(6)}`, chunk: someBytes(story)}),
	'command/exec/terminate': ({random}) => ({sessionId: `session-${random.int(6)}`}),
	'fs/readFile': story => ({path: someFile(story), sandbox: someSandbox(story)}),
	'fs/writeFile': story => ({path: someFile(story), dataBase64: someBytes(story), followSymlinks: false}),
	'fs/open': story => ({
		handleId: someHandle(story),
		path: someFile(story),
		mode: story.random.pick(['read', 'replace']),
	}),
	'fs/readBlock': story => ({handleId: someHandle(story), offset: story.random.int(10), len: story.random.int(5000)}),
	'fs/writeBlock': story => ({handleId: someHandle(story), offset: story.random.int(10), chunk: someBytes(story)}),
	'fs/close': story => ({handleId: someHandle(story)}),
	'fs/createDirectory': story => ({path: someFile(story), recursive: story.random.chance(0.5)}),
	'fs/getMetadata': story => ({path: someFile(story), followSymlinks: story.random.chance(0.5)}),
	'fs/canonicalize': story => ({path: someFile(story)}),
	'fs/readDirectory': story => ({path: someFile(story)}),
	'fs/walk': story => ({
		path: someFile(story),
		options: {maxDepth: 3, maxDirectories: 10, maxEntries: 100, followDirectorySymlinks: false},
	}),
	'fs/remove': story => ({path: someFile(story), recursive: true, force: story.random.chance(0.5)}),
	'fs/copy': story => ({sourcePath: someFile(story), destinationPath: someFile(story), recursive: false}),
	'fs/watchMissing': story => ({watchId: story.random.int(5), missing: [someFile(story)], present: null}),
	// Never one that names anything: no request leaves the machine.
	'http/request': ({random}) => random.pick([undefined, {}, {method: 'GET'}, {requestId: '1', headers: []}]),
};

/** A method that is new in the table is asked for with no params until it has its own here. */
export function paramsOf(method, story) {
	return PARAMS[method] ? PARAMS[method](story) : {};
}

/** Shared by all messages: whoever wants to change it makes a copy. */
function frozen(value) {
	if (typeof value !== 'object' || value === null) return value;
	for (const each of Object.values(value)) frozen(each);
	return Object.freeze(value);
}
