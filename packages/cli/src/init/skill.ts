/** `heddle init --skill`: nothing but the skill for coding agents. */
import path from 'node:path'
import { skillFile, writeSkill } from '../analyze/skill.ts'

/** True when the skill was written. Otherwise the reason is printed. */
export async function initSkill(folder: string, json: boolean): Promise<boolean> {
  try {
    const isNew = await writeSkill(path.resolve(folder))
    const [written, kept] = isNew ? [[skillFile], []] : [[], [skillFile]]
    const answer = { ok: true, folder: path.resolve(folder), written, kept }
    if (json) process.stdout.write(`${JSON.stringify(answer)}\n`)
    else process.stdout.write(isNew ? `  + ${skillFile}\n` : `  = ${skillFile} (kept as it is)\n`)
    return true
  } catch (error) {
    const { message } = error as Error
    process.stderr.write(`heddle: ${skillFile} cannot be written: ${message}\n`)
    if (json) process.stdout.write(`${JSON.stringify({ ok: false, error: { message } })}\n`)
    return false
  }
}
