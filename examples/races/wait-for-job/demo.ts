import { EventEmitter } from 'node:events'
import { Answers, settle, type Seen } from '../stage.ts'
import type { Ask, Job } from './race.ts'

export async function demonstrate(module: {
  Job: new (id: string, events: EventEmitter, isCompleted: Ask) => Pick<Job, 'waitUntilFinished'>
}): Promise<Seen> {
  const events = new EventEmitter()
  const store = new Answers<boolean>()
  const job = new module.Job('7', events, store.ask)
  let isOver = false
  void job.waitUntilFinished().then(() => (isOver = true))
  await settle()
  // The store has answered, its answer is on the way; the job completes before it arrives.
  store.answer(false)
  events.emit('completed:7')
  await settle()
  return {
    happened: !isOver,
    what: isOver ? 'the caller was told' : 'the job is over, and its caller waits for ever',
  }
}
