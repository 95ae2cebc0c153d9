export {ENVIRONMENTS_FILE, type EnvironmentsConfig, parseEnvironments} from './config/environments-file.js';
export type {LoadOptions} from './config/load-environments.js';
export {Environment} from './environment.js';
export type {ServerDescription} from './environment-backend.js';
export {EnvironmentManager} from './environment-manager.js';
export {LocalFiles} from './local/local-files.js';
export {LocalHttp} from './local/local-http.js';
export {LocalPorts} from './local/local-ports.js';
export type {RemoteTarget} from './remote/remote-target.js';
