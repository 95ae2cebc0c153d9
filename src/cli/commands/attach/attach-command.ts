import {findProcess} from '../../../environments/processes/find-process.js';
import {type ProcessPlace, withProcess} from '../../common/processes/open-process.js';
import {parseShareLink} from '../../common/processes/share-link.js';
import {describeWayBack} from '../../common/processes/way-back.js';
import {usageError} from '../../exit-codes.js';
import {OwnTerminal} from '../run/attach/own-terminal.js';
import {enterProcess} from './enter-process.js';
import {SharedAttachment} from './shared-attachment.js';
import {showEnded} from './show-ended.js';
import type {WantedRole} from './take-seat.js';

export interface AttachCommandOptions extends ProcessPlace {
	readonly observe: boolean;
	/** Whether the driver, if there is one, loses the seat. */
	readonly take: boolean;
	/** Given if `longarm shell --name` leads to the process. */
	readonly shellName?: string;
}

/** Attaches our streams to a process that runs already; settles with its exit code, or with 0 when we leave. */
export function attachCommand(id: string, request: AttachCommandOptions): Promise<number> {
	const {observe, take, shellName} = request;
	if (observe && take) throw usageError('--observe and --take exclude each other');
	const wanted: WantedRole = observe ? 'observe' : take ? 'take' : 'drive-if-free';
	// A user at a terminal sees that the link is lost, and may give up.
	const place = {...request, isPatient: process.stdin.isTTY};
	// The secret of a link is shown nowhere.
	const words = parseShareLink(id)
		? undefined
		: shellName === undefined
			? ['attach', id]
			: ['shell', '--name', shellName];
	return withProcess(id, place, async given => {
		const {environment} = given;
		const {processId, tty} = await findProcess(given);
		const terminal = tty && process.stdin.isTTY ? new OwnTerminal() : undefined;
		const enter = (role: WantedRole) => enterProcess(environment, {processId, tty}, {terminal, wanted: role});
		try {
			const entrance = await enter(wanted);
			if (entrance.kind === 'over') return await showEnded(entrance.listed, entrance.first, terminal);
			const wayBack = words && (() => describeWayBack(environment, words));
			const attachment = new SharedAttachment(environment, entrance, {
				terminal,
				enter,
				wayBack,
				isShell: shellName !== undefined,
			});
			return await attachment.run();
		} finally {
			terminal?.restore();
		}
	});
}
