export type { LoggedRequest } from './testing/call.ts'
export {
  startFaultProxy,
  type FaultProxy,
  type FaultProxyOptions,
  type UploadCount,
} from './testing/fault-proxy.ts'
export type { FaultRule, FaultRules, RateLimit } from './testing/fault-rules.ts'
export { startPypi, type Pypi, type PypiOptions } from './testing/pypi.ts'
export type { PypiFile } from './testing/pypi-pages.ts'
export { startVerdaccio, type Verdaccio, type VerdaccioOptions } from './testing/verdaccio.ts'
export { runInVirtualTime, type VirtualTimeOptions } from './testing/virtual-time.ts'
export type { VisibleAfter } from './testing/visibility.ts'
