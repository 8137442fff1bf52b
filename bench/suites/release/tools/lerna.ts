import { allIn, nameIn, type Output, type Reported, type Tool } from './tool.ts'
import { peerProgram } from './peer-program.ts'

export const lerna: Tool = {
  title: 'lerna 10.1.1: lerna publish from-package --yes',
  command: { file: peerProgram('lerna'), args: ['publish', 'from-package', '--yes'] },
  files: { 'lerna.json': '{ "version": "independent", "npmClient": "pnpm" }\n' },
  isLinked: true,
  read: readOutput,
}

/** It names published packages; of a failure only the error. */
function readOutput({ stderr }: Output): Reported {
  const already = allIn(stderr, /already published: (\S+)/g).map(nameIn)
  const published = allIn(stderr, /lerna success published (\S+) \d+\.\d/g)
  return {
    published: published.filter((name) => !already.includes(name)),
    already,
    failed: [],
    notDone: [],
    message: /lerna ERR! (.*)/.exec(stderr)?.[1] ?? '',
  }
}
