import {onTestFinished} from 'vitest';

/** A network whose router can lose packets, see `bench/lib/router.mjs`. */
export interface Router {
	readonly server: string;
	readonly onServer: string[];
	readonly onClient: string[];
	drop(): void;
	pass(): void;
	killFlows(port: number): number;
	destroy(): void;
}

/** A proxy that can fall silent, see `bench/lib/silent-proxy.mjs`. */
export interface SilentProxy {
	readonly url: string;
	swallow(): void;
	close(): void;
}

const LIB = new URL('../../bench/lib/', import.meta.url);

/** Gone with the test. */
export async function router(): Promise<Router> {
	const loaded = (await import(new URL('router.mjs', LIB).href)) as {Router: new () => Router};
	const made = new loaded.Router();
	onTestFinished(() => made.destroy());
	return made;
}

/** Gone with the test. */
export async function silentProxy(url: string): Promise<SilentProxy> {
	const loaded = (await import(new URL('silent-proxy.mjs', LIB).href)) as {
		SilentProxy: {to(target: string): Promise<SilentProxy>};
	};
	const made = await loaded.SilentProxy.to(url);
	onTestFinished(() => made.close());
	return made;
}
