export { VirtualClock } from './kernel/virtual-clock.ts'
