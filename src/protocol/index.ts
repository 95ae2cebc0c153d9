export * from './error-codes.js';
export * from './limits.js';
export {
	METHODS,
	type MethodName,
	type NotificationName,
	type Params,
	type ParamsOnWire,
	type RequestName,
	type ResultOnWire,
} from './methods.js';
export {PathUri} from './path-uri.js';
