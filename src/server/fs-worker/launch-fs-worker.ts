import {realpathSync} from 'node:fs';
import {dirname} from 'node:path';
import {locatePath} from '../../sandbox/host.js';
import {accessAt, compareByDepth, type Mount, type SandboxPlan} from '../../sandbox/plan.js';
import {LongarmError} from '../../shared/errors.js';
import type {Transport} from '../../transports/transport.js';
import type {ServerContext} from '../server-context.js';
import {spawnTransport} from './child-transport.js';

/** The only variables of the server that a worker inherits. */
const VARIABLES = ['PATH', 'TMPDIR', 'TMP', 'TEMP', 'HOME', 'CODEX_HOME'];
/** Shared libraries a program needs. */
const LIBRARIES = ['/lib', '/lib64', '/usr/lib', '/usr/lib64', '/etc/ld.so.cache'];

/** Starts a worker, a server like this one, inside a sandbox; the transport is its standard input and output. */
export function launchFsWorker(plan: SandboxPlan, {sandbox, settings, backend}: ServerContext): Promise<Transport> {
	const {ownCommand, variables, maxReplyBytes, logger} = settings;
	const [program, ...own] = ownCommand.map(word => realpathSync(word));
	if (program === undefined) {
		throw new LongarmError('FILE_REFUSED', {
			message: 'sandboxed filesystem operations require configured runtime paths',
		});
	}
	const needed = [program, ...own.map(dirname)];
	const args = [...own, 'serve', '--listen', 'stdio', '--log-level', 'warn', '--max-reply', String(maxReplyBytes)];
	const environment = new Map(VARIABLES.flatMap(name => (variables[name] ? [[name, variables[name]]] : [])));
	// Node does not start with a configuration it may not read, unlike with one that is not there.
	environment.set('OPENSSL_CONF', '/dev/null');
	const command = {program, args, arg0: undefined, cwd: '/', terminal: false, environment};
	const {file, argv, ...wrapper} = sandbox.wrap(withRuntimeMounts(plan, needed), command);
	return spawnTransport(backend(), {file, argv, wrapper, cwd: Buffer.from('/'), environment: new Map()}, text =>
		logger.debug('fs sandbox said', {text: text.trim()}),
	);
}

/** The plan with read-only mounts of what our own program needs to run, unless the policy shows it anyway. */
export function withRuntimeMounts(plan: SandboxPlan, paths: readonly string[]): SandboxPlan {
	const mounts: Mount[] = [...plan.mounts];
	for (const path of [...LIBRARIES, ...paths]) {
		const place = locatePath(path);
		if (!place.found) continue;
		for (const link of place.links) if (!isShown(link.path)) mounts.push({kind: 'link', ...link});
		if (!isShown(place.path)) mounts.push({kind: 'read', path: place.path});
	}
	return {...plan, mounts: mounts.sort(compareByDepth)};

	function isShown(path: string): boolean {
		return (
			accessAt({...plan, mounts}, path) !== 'none' || mounts.some(mount => mount.kind === 'link' && mount.path === path)
		);
	}
}
