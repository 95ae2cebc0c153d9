import {randomUUID} from 'node:crypto';

let id: string | undefined;

/** Names this process among all that were ever started: a server that was restarted has another one. */
export function instanceId(): string {
	id ??= randomUUID();
	return id;
}

/** Goes on under the name of the program that this one takes the place of. Call before the first use. */
export function adoptInstanceId(inherited: string): void {
	id = inherited;
}
