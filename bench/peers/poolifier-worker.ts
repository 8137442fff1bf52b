import { ThreadWorker } from 'poolifier'
import { spin, tiny } from './thread-jobs.ts'

export default new ThreadWorker<number, number>({
  tiny: (input) => tiny(input ?? 0),
  spin: (input) => spin(input ?? 0),
})
