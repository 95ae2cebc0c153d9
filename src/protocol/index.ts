export {
	METHODS,
	type MethodName,
	type NotificationName,
	type Params,
	type ParamsOnWire,
	type RequestName,
	type Result,
	type ResultOnWire,
} from './methods/method-table.js';
export {PathUri} from './path-uri/path-uri.js';
export * from './wire/error-codes.js';
export * from './wire/message-limits.js';
