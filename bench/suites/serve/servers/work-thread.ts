/** The thread of piscina. */
export { work as default } from '../work.ts'
