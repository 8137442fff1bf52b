/** `heddle init --skill`: nothing but the skill for coding agents. */
import path from 'node:path'
import { skillFile, writeSkill } from '../analyze/skill.ts'

/** True when the skill is there. What stopped it is printed. */
export async function initSkill(folder: string): Promise<boolean> {
  try {
    const isNew = await writeSkill(path.resolve(folder))
    process.stdout.write(isNew ? `  + ${skillFile}\n` : `  = ${skillFile} (kept as it is)\n`)
    return true
  } catch (error) {
    process.stderr.write(`heddle: ${skillFile} cannot be written: ${(error as Error).message}\n`)
    return false
  }
}
