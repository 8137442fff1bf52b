import { Answers, settle, type Seen } from '../stage.ts'
import type { Save, SavedList } from './race.ts'

export async function demonstrate(module: {
  SavedList: new (save: Save) => Pick<SavedList, 'add' | 'clear' | 'entries'>
}): Promise<Seen> {
  let disk: readonly string[] = []
  const disks = new Answers<void>()
  const list = new module.SavedList(async (entries) => {
    await disks.ask()
    disk = entries
  })
  const adding = list.add('milk')
  await settle()
  const clearing = list.clear()
  await settle()
  // Where two calls are open, the disk answers the later one first.
  while (disks.open > 0) {
    disks.answer(undefined, disks.open - 1)
    await settle()
  }
  await Promise.all([adding, clearing])
  const memory = JSON.stringify(list.entries)
  return {
    happened: list.entries.length > 0,
    what: `cleared after adding: memory has ${memory}, disk has ${JSON.stringify(disk)}`,
  }
}
