import type {Environment} from '../../../environments/environment.js';
import {toSafeJson} from '../../../shared/safe-json.js';
import {writeMessage} from '../../common/messages.js';
import {printable} from '../../common/printable.js';
import {withEnvironment} from '../../common/processes/open-process.js';
import {runUntilBrokenPipe, writeOut} from '../../common/stdout.js';
import {EXIT} from '../../exit-codes.js';
import {type AttachedCommand, readEnvironmentFacts, startAttached} from './attach/start-attached.js';

/** Size of a terminal that nobody looks at yet. */
const USUAL_SIZE = {rows: 24, cols: 80};

export interface DetachedStart {
	readonly command: AttachedCommand;
	/** Whether the id is written as JSON. */
	readonly json: boolean;
}

/** Starts a command that outlives this program, and writes its id. */
export function startDetached(environment: Environment, {command, json}: DetachedStart): Promise<number> {
	return withEnvironment(environment, async () => {
		const facts = await readEnvironmentFacts(environment);
		const started = await startAttached(environment, command, {
			facts,
			terminal: command.tty ? {size: readSize()} : undefined,
			inputKind: 'nothing',
			isDetached: true,
		});
		if ('exitCode' in started) {
			writeMessage(`error: ${started.message}`, `hint: ${started.hint}`);
			return started.exitCode;
		}
		const {processId} = started.process;
		const line = json ? toSafeJson({id: processId, name: command.sharing?.name ?? null}) : printable(processId);
		return runUntilBrokenPipe(async () => {
			await writeOut(`${line}\n`);
			return EXIT.ok;
		});
	});
}

/** That of our own terminal, which will probably be the one it is attached to. */
function readSize(): {readonly rows: number; readonly cols: number} {
	const screen = [process.stdout, process.stderr].find(({isTTY}) => isTTY);
	if (!screen || !(screen.rows > 0 && screen.columns > 0)) return USUAL_SIZE;
	return {rows: screen.rows, cols: screen.columns};
}
