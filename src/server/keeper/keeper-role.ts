import type {KeptOutput} from '../../processes/output/output-spill.js';
import type {StartRequest} from '../../processes/prepare-spawn.js';
import {ProcessSpill} from '../../processes/spill/process-spill.js';
import {LongarmError} from '../../shared/errors.js';
import {toMeta} from '../state/server-state.js';
import {KEEPER_BLOCKED, type KeeperBlockedParams} from './keeper-methods.js';

/** The part of a keeper that its server object needs: where files go, and how it ends. */
export class KeeperRole {
	readonly generation: string;
	/** Ends the keeper. */
	readonly end: () => void;
	/** Paths for the files of processes that are about to be started. */
	readonly #places = new Map<string, string>();
	/** Sends a notification to the server of this keeper; undefined before the first server. */
	notify: ((method: string, params: object) => void) | undefined;

	constructor(generation: string, end: () => void) {
		this.generation = generation;
		this.end = end;
	}

	/** Runs a start whose files go to this path. */
	async startAt<T>(id: string, directory: string, start: () => Promise<T>): Promise<T> {
		this.#places.set(id, directory);
		try {
			return await start();
		} finally {
			this.#places.delete(id);
		}
	}

	openSpill(id: string, request: StartRequest, owner: string | undefined): KeptOutput {
		const directory = this.#places.get(id);
		if (directory === undefined)
			throw new LongarmError('NOT_SUPPORTED', {message: 'keepers start nothing by themselves'});
		const {generation} = this;
		const meta = {...toMeta(id, request, owner), generation, keeper: generation, durable: true};
		const maxBytes = request.spill?.maxBytes;
		return ProcessSpill.create(directory, meta, {
			...(maxBytes !== undefined && {maxBytes}),
			onBlockedChange: ({blockedOn, blockedBy}) => {
				const params: KeeperBlockedParams = {
					processId: id,
					blockedOn: blockedOn ?? null,
					reason: blockedBy ?? null,
				};
				this.notify?.(KEEPER_BLOCKED, params);
			},
		});
	}
}
