export {LOST_LINK_MS, type McpMachine, ProcessTransport, type ProcessTransportOptions} from './process-transport.js';
