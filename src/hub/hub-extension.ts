import type {IncomingMessage, ServerResponse} from 'node:http';
import type {MetricsRegistry} from '../shared/metrics.js';

/** Further requests that a hub answers, of a part that is loaded only where it is used. */
export interface HubExtension {
	/** Whether the path is one of its own; its bodies may take longer to arrive than those of others. */
	owns(path: string): boolean;
	/** Throws a `HubRefusal`. */
	handle(request: IncomingMessage, response: ServerResponse, path: string, query: URLSearchParams): Promise<void>;
	/** Adds metrics of its own: those of one tenant, or those of the whole node. */
	addMetrics(registry: MetricsRegistry, tenant?: string): void;
	/** Ends its work, before executors are disconnected; may be called more than once. */
	close(): Promise<void>;
}
