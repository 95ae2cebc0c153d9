export {Environment} from './environment.js';
export {EnvironmentManager} from './environment-manager.js';
export {ENVIRONMENTS_FILE, type EnvironmentsConfig, parseEnvironments} from './environments-file.js';
export type {LoadOptions} from './load.js';
export {LocalFiles} from './local/local-files.js';
export {LocalHttp} from './local/local-http.js';
export {LocalPorts} from './local/local-ports.js';
export type {ServerDescription} from './process-place.js';
export type {RemoteTarget} from './target.js';
