import {RejectedError} from '../../../client/session/client-errors.js';
import type {Environment} from '../../../environments/environment.js';
import {findProcess, isLiving} from '../../../environments/processes/find-process.js';
import {UnknownProcessError} from '../../../environments/processes/unknown-process-error.js';
import {openEnvironment} from '../../common/environments.js';
import {writeMessage} from '../../common/messages.js';
import {type ProcessPlace, withEnvironment} from '../../common/processes/open-process.js';
import {attachCommand} from '../attach/attach-command.js';
import {type AttachedCommand, readEnvironmentFacts, startAttached} from './attach/start-attached.js';
import {parseSharingRequest} from './sharing-request.js';
import {readOwnSize} from './start-detached.js';

/** Attaches our terminal to the shell of this name, which is started if there is none, and stays when we leave. */
export async function attachToShell(name: string, command: AttachedCommand, place: ProcessPlace): Promise<number> {
	const request = {detach: true, keep: false, name, labels: [], record: false};
	const {sharing, processId} = parseSharingRequest(request);
	const environment = await openEnvironment(place.environment, {...place, isNamed: true});
	const failed = await withEnvironment(environment, async () => {
		if (await isThere(environment, name)) return undefined;
		// On this machine it is one of the daemon.
		const shared = environment.kind === 'local' ? {...sharing, share: {}} : {...sharing};
		return start(environment, {...command, sharing: shared, processId});
	});
	if (failed !== undefined) return failed;
	const {quiet} = place;
	return attachCommand(name, {environment: place.environment, quiet, observe: false, take: true, shellName: name});
}

async function isThere(environment: Environment, reference: string): Promise<boolean> {
	try {
		return isLiving(await findProcess({environment, reference}));
	} catch (error) {
		if (error instanceof UnknownProcessError) return false;
		throw error;
	}
}

/** The exit code of a start that has failed. */
async function start(environment: Environment, command: AttachedCommand): Promise<number | undefined> {
	const facts = await readEnvironmentFacts(environment);
	try {
		const context = {facts, terminal: {size: readOwnSize()}, inputKind: 'nothing', isDetached: true} as const;
		const started = await startAttached(environment, command, context);
		if (!('exitCode' in started)) return undefined;
		writeMessage(`error: ${started.message}`, `hint: ${started.hint}`);
		return started.exitCode;
	} catch (error) {
		// Another client was faster.
		if (error instanceof RejectedError && error.errorCode === 'PROCESS_EXISTS') return undefined;
		throw error;
	}
}
