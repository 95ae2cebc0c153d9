import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {sandboxContext} from '../../src/protocol/methods/sandbox-params.js';
import {decode} from '../../src/protocol/wire/decode.js';
import type {Host, ResolvedPath} from '../../src/sandbox/host.js';
import {type Access, accessAt, isMountWithin} from '../../src/sandbox/plan.js';
import {resolvePlan} from '../../src/sandbox/resolve-plan.js';
import {at, type Entry, glob, policy, root, special} from '../helpers/sandboxes.js';

/** A machine on which everything is a directory but metadata of projects and what is named as something else. */
function host({missing = [], files = [], links = {}, metadata = [], texts = {}}: FakeHost = {}): Host {
	const locate = (path: string): ResolvedPath => {
		for (const [link, to] of Object.entries(links)) {
			if (!isMountWithin(path, link)) continue;
			const place = locate(to + path.slice(link.length));
			return place.found ? {...place, links: [{path: link, to}, ...place.links]} : place;
		}
		const isAbsent = /\/\.(git|codex|agents)$/.test(path) && !metadata.includes(path) && texts[path] === undefined;
		if (isAbsent || missing.some(gone => isMountWithin(path, gone))) return {found: false, path};
		const isFile = files.includes(path) || texts[path] !== undefined;
		return {found: true, path, kind: isFile ? 'file' : 'directory', links: []};
	};
	return {
		locate,
		findMatches: pattern => [pattern.replace('**/*', 'found')],
		readText: path => texts[path],
	};
}

interface FakeHost {
	readonly missing?: readonly string[];
	readonly files?: readonly string[];
	readonly links?: Readonly<Record<string, string>>;
	/** Directories such as `.git`. */
	readonly metadata?: readonly string[];
	/** Files and what they hold. */
	readonly texts?: Readonly<Record<string, string>>;
}

const resolve = (context: object, machine: Host = host(), cwd?: string, temporaryDirectory?: string) =>
	resolvePlan(decode(sandboxContext, context), {cwd, temporaryDirectory, host: machine});
const mounts = (entries: readonly Entry[], machine?: Host, more?: Record<string, unknown>) =>
	resolve(policy(entries, more), machine)?.mounts;

const profile = (permissions: object) => resolve({permissions, windowsSandboxLevel: 'disabled'});
const kept = (subpath: string) => ({
	...special({kind: 'project_roots', subpath}, 'read'),
	missing_path_behavior: 'skip',
});

describe('what a profile restricts', () => {
	test('a disabled profile restricts nothing, nor does one that is unrestricted and has the network', () => {
		expect(profile({type: 'disabled'})).toBeUndefined();
		expect(profile({type: 'external', network: 'enabled'})).toBeUndefined();
		expect(profile({type: 'managed', file_system: {type: 'unrestricted'}, network: 'enabled'})).toBeUndefined();
	});

	test('without the network even free files need a sandbox', () => {
		const plan = {mounts: [{kind: 'write', path: '/'}], network: 'none'};
		expect(profile({type: 'external', network: 'restricted'})).toEqual(plan);
		expect(profile({type: 'managed', file_system: {type: 'unrestricted'}, network: 'restricted'})).toEqual(plan);
	});

	test('a policy without entries shows nothing', () => {
		expect(resolve(policy([], {network: 'enabled'}))).toEqual({mounts: [], network: 'host'});
	});
});

describe('symbolic paths', () => {
	test('what a stock client sends for a workspace becomes a read-only root with writable places in it', () => {
		const entries = [
			root('read'),
			special({kind: 'project_roots'}, 'write'),
			special({kind: 'slash_tmp'}, 'write'),
			special({kind: 'tmpdir'}, 'write'),
			kept('.git'),
			kept('.aws'),
		];
		const missing = ['/srv/app/.aws', '/srv/lib/.aws'];
		const machine = host({missing, metadata: ['/srv/app/.git']});
		const more = {cwd: 'file:///srv/app', workspaceRoots: ['file:///srv/app', 'file:///srv/lib']};
		expect(resolve(policy(entries, more), machine, '/', '/var/tmp')?.mounts).toEqual([
			{kind: 'read', path: '/'},
			{kind: 'write', path: '/tmp'},
			{kind: 'write', path: '/srv/app'},
			{kind: 'write', path: '/srv/lib'},
			{kind: 'write', path: '/var/tmp'},
			{kind: 'read', path: '/srv/app/.git'},
		]);
	});

	test('project roots are the working directory when none are named, the policy’s own before the process’s', () => {
		const entries = [special({kind: 'current_working_directory'}, 'write')];
		const own = resolve(policy(entries, {cwd: 'file:///own'}), host(), '/p');
		expect(own?.mounts).toEqual([{kind: 'write', path: '/own'}]);
		expect(resolve(policy(entries), host(), '/p')?.mounts).toEqual([{kind: 'write', path: '/p'}]);
	});

	test('project roots and relative globs without any directory are an error of the caller', () => {
		const needsCwd = {
			code: 'SANDBOX_INVALID',
			message: 'file system sandbox context with dynamic permissions requires cwd',
		};
		expect(() => mounts([special({kind: 'project_roots'}, 'read')])).toThrow(expect.objectContaining(needsCwd));
		expect(() => mounts([glob('**/*.env', 'deny')])).toThrow(expect.objectContaining(needsCwd));
	});

	describe('the directory for temporary files', () => {
		const machine = host({missing: ['/gone'], files: ['/file'], links: {'/link': '/', '/alias': '/scratch'}});
		const temporary = (value: string | undefined, cwd?: string, access = 'write') =>
			resolve(policy([special({kind: 'tmpdir'}, access)]), machine, cwd, value)?.mounts;

		test('is TMPDIR of the process, from its working directory on and through links', () => {
			expect(temporary('/scratch')).toEqual([{kind: 'write', path: '/scratch'}]);
			expect(temporary('../scratch', '/work')).toEqual([{kind: 'write', path: '/scratch'}]);
			expect(temporary('/alias')?.[0]).toEqual({kind: 'write', path: '/scratch'});
		});

		test.each([undefined, '', 'relative', '/gone', '/file', '/', '/link'])('is nothing if TMPDIR is %j', value => {
			expect(temporary(value)).toEqual([]);
		});

		test('is hidden whatever it is, if the policy denies it', () => {
			const entries = [root('read'), special({kind: 'tmpdir'}, 'deny')];
			const hidden = resolve(policy(entries), machine, undefined, '/file')?.mounts.at(-1);
			expect(hidden).toEqual({kind: 'hidden', path: '/file', fileType: 'file'});
		});

		test('is not one of those the policy says the server has', () => {
			const entries = [special({kind: 'tmpdir'}, 'write')];
			expect(mounts(entries, machine, {temporaryDirectories: ['file:///scratch']})).toEqual([]);
		});
	});

	test('the platform is shown with the links it is laid out by', () => {
		const machine = host({missing: ['/lib32', '/opt', '/nix'], links: {'/bin': '/usr/bin', '/lib': '/usr/lib'}});
		expect(mounts([special({kind: 'minimal'}, 'read')], machine)).toEqual([
			{kind: 'private', path: '/tmp'},
			{kind: 'read', path: '/etc'},
			{kind: 'read', path: '/lib64'},
			{kind: 'read', path: '/sbin'},
			{kind: 'read', path: '/usr'},
			{kind: 'link', path: '/bin', to: '/usr/bin'},
			{kind: 'link', path: '/lib', to: '/usr/lib'},
		]);
	});

	test('the platform is never writable', () => {
		const shown = mounts([special({kind: 'minimal'}, 'write')]);
		expect(shown?.filter(({kind}) => kind === 'write')).toEqual([]);
		expect(shown).toContainEqual({kind: 'read', path: '/usr'});
	});

	test.each<[string, Entry[]]>([
		['the policy shows all files', [root('read')]],
		['the policy shows the one of the machine', [special({kind: 'slash_tmp'}, 'read')]],
		['the policy denies it', [at('/tmp', 'deny')]],
	])('the platform brings no /tmp of its own if %s', (_, entries) => {
		const shown = mounts([special({kind: 'minimal'}, 'read'), ...entries]);
		expect(shown?.filter(({kind}) => kind === 'private')).toEqual([]);
	});

	test('a /tmp of its own gives no access to the files of the machine', () => {
		const plan = resolve(policy([special({kind: 'minimal'}, 'read'), at('/tmp/work', 'write')]))!;
		expect(plan.mounts).toContainEqual({kind: 'private', path: '/tmp'});
		expect([accessAt(plan, '/tmp/other'), accessAt(plan, '/tmp/work')]).toEqual(['none', 'write']);
	});

	test('a glob hides what matches now', () => {
		const entries = [root('read'), glob('**/*.env', 'deny')];
		expect(mounts(entries, host({files: ['/app/found.env']}), {cwd: 'file:///app'})).toEqual([
			{kind: 'read', path: '/'},
			{kind: 'hidden', path: '/app/found.env', fileType: 'file'},
		]);
	});
});

const readOnly = (machine: Host, entries: readonly Entry[] = [at('/w', 'write')]) =>
	mounts(entries, machine)!.flatMap(({kind, path}) => (kind === 'read' ? [path] : []));

describe('the metadata of a writable root', () => {
	const WORKTREE = {'/w/.git': 'gitdir: ../repo/.git/worktrees/w\n', '/repo/.git/worktrees/w/commondir': '../..\n'};

	test('is read-only if it exists, in every root, and stays writable where the policy names it', () => {
		const metadata = ['/w/.git', '/w/.codex', '/w/.agents', '/v/.git', '/w/a/.git'];
		expect(readOnly(host({metadata}))).toEqual(['/w/.agents', '/w/.codex', '/w/.git']);
		expect(readOnly(host({metadata}), [at('/w', 'write'), at('/v', 'write'), at('/w/.git', 'write')])).toEqual([
			'/v/.git',
			'/w/.agents',
			'/w/.codex',
		]);
		expect(readOnly(host({texts: {'/w/.codex': ''}}))).toEqual(['/w/.codex']);
	});

	test('has its parts that the policy names as the policy says', () => {
		const plan = mounts([at('/w', 'write'), at('/w/.git/refs', 'write')], host({metadata: ['/w/.git']}));
		expect(plan).toEqual([
			{kind: 'write', path: '/w'},
			{kind: 'read', path: '/w/.git'},
			{kind: 'write', path: '/w/.git/refs'},
		]);
	});

	test('includes what a pointer of Git leads to, and what that shares', () => {
		const machine = host({texts: WORKTREE, metadata: ['/repo/.git']});
		expect(readOnly(machine, [at('/w', 'write'), at('/repo/.git/worktrees', 'write')])).toEqual(['/w/.git']);
		expect(readOnly(machine, [at('/', 'write'), at('/w', 'write')])).toEqual(['/repo/.git', '/w/.git']);
		expect(readOnly(machine, [at('/w', 'write'), at('/home', 'read'), at('/repo', 'write')])).toEqual([
			'/home',
			'/repo/.git',
			'/w/.git',
		]);
		const absolute = host({texts: {'/w/.git': 'gitdir: /data/git\n'}});
		expect(readOnly(absolute, [at('/w', 'write'), at('/data', 'write')])).toEqual(['/data/git', '/w/.git']);
	});

	test('never grants anything, wherever a pointer or a link leads', () => {
		const pointer = host({texts: {'/w/.git': 'gitdir: /secret/key'}});
		const entries = [at('/w', 'write'), at('/secret', 'deny')];
		expect(mounts(entries, pointer)).toEqual([
			{kind: 'write', path: '/w'},
			{kind: 'read', path: '/w/.git'},
		]);
		for (const to of ['/', '/w', '/w/..']) {
			const plan = resolve(policy(entries), host({texts: {'/w/.git': `gitdir: ${to}`}}))!;
			expect([accessAt(plan, '/'), accessAt(plan, '/w'), accessAt(plan, '/w/x')]).toEqual(['none', 'write', 'write']);
		}
		const temporary = host({links: {'/tmp/.git': '/secret/key', '/tmp/.codex': '/tmp/x'}});
		const tmp = [special({kind: 'slash_tmp'}, 'write'), at('/secret', 'deny')];
		expect(mounts(tmp, temporary)).toEqual([
			{kind: 'write', path: '/tmp'},
			{kind: 'read', path: '/tmp/x'},
		]);
	});

	test('is refused behind a link that can be replaced, unless the root is one that all may write to', () => {
		expect(() => mounts([at('/w', 'write')], host({links: {'/w/.git': '/else'}}))).toThrow(/is a symbolic link/);
	});
});

describe('what cannot be enforced is refused', () => {
	test.each<[string, Entry[], Host, RegExp]>([
		['a special path of the future', [special({kind: 'unknown', path: ':x'}, 'read')], host(), /`:x`/],
		['a grant by a glob', [glob('/a/*', 'write')], host(), /pattern `\/a\/\*`/],
		['a subpath that leads out', [special({kind: 'project_roots', subpath: '../x'}, 'write')], host(), /`..\/x`/],
		[
			'a read-only path that does not exist in a writable directory',
			[at('/w', 'write'), at('/w/.git', 'read')],
			host({missing: ['/w/.git']}),
			/`\/w\/.git` does not exist/,
		],
		[
			'a hidden path that does not exist in a writable directory',
			[at('/w', 'write'), at('/w/key', 'deny')],
			host({missing: ['/w/key']}),
			/`\/w\/key` does not exist/,
		],
		[
			'a read-only path behind a link that can be replaced',
			[at('/w', 'write'), at('/w/.git', 'read')],
			host({links: {'/w/.git': '/else'}}),
			/`\/w\/.git` is a symbolic link/,
		],
		[
			'a writable path behind a link that can be replaced',
			[at('/w', 'write'), at('/w/out', 'write')],
			host({links: {'/w/out': '/else'}}),
			/`\/w\/out` is a symbolic link/,
		],
		[
			'a hidden path behind a link that can be replaced',
			[root('read'), at('/w', 'write'), at('/w/key', 'deny')],
			host({links: {'/w/key': '/else'}}),
			/`\/w\/key` is a symbolic link/,
		],
		['a part of the kernel’s own files', [root('read'), at('/proc/cpuinfo', 'deny')], host(), /`\/proc\/cpuinfo`/],
	])('%s', (_name, entries, machine, message) => {
		const refusal = () => mounts(entries, machine, {cwd: 'file:///srv'});
		expect(refusal).toThrow(expect.objectContaining({code: 'NOT_SUPPORTED'}));
		expect(refusal).toThrow(message);
		expect(refusal).toThrow(/^sandbox intent cannot be enforced on this executor: /);
	});

	test('but not a writable path behind a link that leads to one anyway, nor one behind a link that stays', () => {
		const entries = [at('/w', 'write'), at('/w/out', 'write')];
		expect(mounts(entries, host({links: {'/w/out': '/w/in'}}))).toEqual([{kind: 'write', path: '/w'}]);
		expect(mounts([at('/w/out', 'write')], host({links: {'/w/out': '/else'}}))).toContainEqual({
			kind: 'write',
			path: '/else',
		});
	});

	test('a path that is not UTF-8', () => {
		const entry = {path: {type: 'path', path: 'file:///a%FF'}, access: 'write'};
		expect(() => mounts([entry])).toThrow(expect.objectContaining({code: 'NOT_SUPPORTED'}));
	});
});

const paths = fc
	.array(fc.constantFrom('a', 'b', 'c'), {maxLength: 4})
	.map(steps => `/${['x', ...steps].join('/')}`)
	.chain(path => fc.constantFrom(path, '/', '/x'));
const rules = fc.array(fc.record({path: paths, access: fc.constantFrom('read', 'write', 'deny', 'none')}), {
	maxLength: 12,
});
const RANK: Record<string, number> = {read: 0, write: 1, deny: 2, none: 2};

/** The meaning of a policy, said the slow way. */
function expected(entries: readonly {path: string; access: string}[], path: string): Access {
	const [best] = entries
		.filter(entry => isMountWithin(path, entry.path))
		.sort((a, b) => b.path.length - a.path.length || RANK[b.access]! - RANK[a.access]!);
	return best === undefined || RANK[best.access] === 2 ? 'none' : (best.access as Access);
}

describe('for any policy', () => {
	test('the plan allows at every path what the most specific entry says', () => {
		fc.assert(
			fc.property(rules, paths, (entries, path) => {
				const plan = resolve(policy(entries.map(entry => at(entry.path, entry.access))))!;
				expect(accessAt(plan, path)).toBe(expected(entries, path));
			}),
		);
	});

	test('the order of the entries does not matter', () => {
		fc.assert(
			fc.property(
				rules.chain(entries =>
					fc.tuple(fc.constant(entries), fc.shuffledSubarray(entries, {minLength: entries.length})),
				),
				([entries, shuffled]) => {
					const of = (some: typeof entries) => mounts(some.map(entry => at(entry.path, entry.access)));
					expect(of(shuffled)).toEqual(of(entries));
				},
			),
		);
	});

	test('no mount changes nothing, and none stands before the one it is in', () => {
		fc.assert(
			fc.property(rules, entries => {
				const all = mounts(entries.map(entry => at(entry.path, entry.access)))!;
				for (const [index, mount] of all.entries()) {
					const before = {mounts: all.slice(0, index), network: 'none'} as const;
					expect(accessAt(before, mount.path)).not.toBe(mount.kind === 'hidden' ? 'none' : mount.kind);
					expect(all.slice(index + 1).some(({path}) => isMountWithin(mount.path, path))).toBe(false);
				}
			}),
		);
	});

	test('a further refusal never allows more', () => {
		const order: readonly Access[] = ['none', 'read', 'write'];
		fc.assert(
			fc.property(rules, paths, paths, (entries, denied, path) => {
				const wire = entries.map(entry => at(entry.path, entry.access));
				const before = accessAt(resolve(policy(wire))!, path);
				const after = accessAt(resolve(policy([...wire, at(denied, 'deny')]))!, path);
				expect(order.indexOf(after)).toBeLessThanOrEqual(order.indexOf(before));
			}),
		);
	});
});
