import {realpathSync} from 'node:fs';
import {dirname} from 'node:path';
import type {SandboxPlan} from '../../sandbox/plan.js';
import {LongarmError} from '../../shared/errors.js';
import type {Transport} from '../../transports/transport.js';
import type {ServerContext} from '../server-context.js';
import {spawnTransport} from './child-transport.js';
import {withRuntimeMounts} from './runtime-mounts.js';

/** The only variables of the server that a worker inherits. */
const VARIABLES = ['PATH', 'TMPDIR', 'TMP', 'TEMP'];

/** Starts a server like this one inside a sandbox, on its standard input and output. */
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
	const command = {program, args, arg0: undefined, cwd: '/', terminal: false};
	const {file, argv, ...wrapper} = sandbox.wrap(withRuntimeMounts(plan, needed), command);
	const environment = new Map(VARIABLES.flatMap(name => (variables[name] ? [[name, variables[name]]] : [])));
	return spawnTransport(backend(), {file, argv, wrapper, cwd: Buffer.from('/'), environment}, text =>
		logger.debug('fs sandbox said', {text: text.trim()}),
	);
}
