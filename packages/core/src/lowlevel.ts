export { systemClock, type Clock, type Timer } from './kernel/clock.ts'
export { systemRandom, seededRandom, type Random } from './kernel/random.ts'
export { systemKernel, type Kernel } from './kernel/kernel.ts'
export type { WaitOptions } from './kernel/waiters.ts'
