import {LocalDaemon} from '../../../environments/local/local-daemon.js';
import {isLiving} from '../../../environments/processes/find-process.js';
import {writeLines, writeMessage} from '../../common/messages.js';
import {printable} from '../../common/printable.js';
import {EXIT} from '../../exit-codes.js';

/** Processes that an error names. */
const MAX_NAMED = 10;

/** Stops the local daemon, unless processes would end with it. */
export async function stopDaemon({force}: {readonly force: boolean}): Promise<number> {
	const daemon = new LocalDaemon({variables: process.env});
	const running = force ? [] : await listEnding(daemon);
	if (running.length > 0) {
		const names = running.slice(0, MAX_NAMED).map(printable).join(', ');
		const more = running.length > MAX_NAMED ? ` and ${running.length - MAX_NAMED} more` : '';
		writeMessage(
			`error: processes run in the local daemon and would end with it: ${names}${more}`,
			'hint: Stop them with `longarm stop`, or use --force.',
		);
		return EXIT.failed;
	}
	const pid = await daemon.stop();
	writeLines([pid === undefined ? 'the local daemon does not run' : `stopped the local daemon, process ${pid}`]);
	return EXIT.ok;
}

/** Names of the processes that end with the daemon. */
async function listEnding(daemon: LocalDaemon): Promise<string[]> {
	const backend = await daemon.find('none');
	try {
		const listed = (await backend?.processes.list({all: true})) ?? [];
		return listed.filter(each => isLiving(each) && each.durable !== true).map(({name, processId}) => name ?? processId);
	} finally {
		await daemon.close();
	}
}
