import type {TurnItem, TurnNotification} from '../../../agent-loop/turn/turn-notifications.js';
import type {JobEvent, JobProgress} from '../../../jobs/engine/job-events.js';
import {endRedrawnLine, redrawLine, writeJson, writeLines, writeMessage} from '../../common/messages.js';
import {formatSeconds} from '../../common/progress/progress-text.js';
import {formatJobLine} from '../fanout/job-progress.js';

const MAX_SHOWN_ARGUMENTS = 200;

/** Tells what an agent and its jobs do. */
export interface AgentReport {
	notification(notification: TurnNotification, isMain: boolean): void;
	jobEvent(event: JobEvent): void;
	/** Last message of the agent, after the turn. */
	end(message: string | undefined): void;
}

/** Everything as JSON lines. */
export class JsonAgentReport implements AgentReport {
	notification(notification: TurnNotification): void {
		writeJson(notification);
	}

	jobEvent({type, ...rest}: JobEvent): void {
		if (type === 'job.progress') writeJson({method: 'fanout/progress', params: rest});
		else writeJson({method: 'fanout/event', params: {type, ...rest}});
	}

	end(): void {}
}

/** Commands and progress on standard error, the last message on standard output. Workers are counted, not shown. */
export class TextAgentReport implements AgentReport {
	readonly #isTerminal = process.stderr.isTTY;
	#isDrawn = false;

	notification(notification: TurnNotification, isMain: boolean): void {
		if (!isMain) return;
		if (notification.method === 'item/completed') this.#writeItem(notification.params.item);
		if (notification.method === 'turn/retrying') {
			const {message, delayMs} = notification.params;
			this.#write(`${message}; trying again in ${formatSeconds(delayMs)}`);
		}
	}

	jobEvent(event: JobEvent): void {
		if (event.type === 'job.progress') this.#writeProgress(event);
		if (event.type === 'job.finished') this.#endLine();
	}

	end(message: string | undefined): void {
		this.#endLine();
		if (message !== undefined) writeLines(message.split('\n'));
	}

	#writeItem(item: TurnItem): void {
		if (item.type !== 'functionCall') return;
		const shown = item.arguments.slice(0, MAX_SHOWN_ARGUMENTS);
		this.#write(`${item.name} ${shown}${shown.length < item.arguments.length ? '…' : ''}`);
	}

	/** Redrawn on a terminal; elsewhere one line at the beginning and one at the end. */
	#writeProgress(progress: JobProgress): void {
		const isEdge = progress.running_items === 0;
		if (!this.#isTerminal) {
			if (isEdge) writeMessage(formatJobLine(progress, undefined));
			return;
		}
		redrawLine(formatJobLine(progress, process.stderr.columns - 1));
		this.#isDrawn = true;
	}

	#write(text: string): void {
		this.#endLine();
		writeMessage(text);
	}

	#endLine(): void {
		if (this.#isDrawn) endRedrawnLine();
		this.#isDrawn = false;
	}
}
