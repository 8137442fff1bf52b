import { raceTests } from '../support/races.ts'

raceTests('H103', [
  {
    name: 'a file that is looked for and then written, with callbacks',
    extension: 'js',
    check: 'fs.exists',
    act: 'fs.writeFile',
    race: `const fs = require('fs')
exports.save = function (file, data, done) {
  fs.exists(file, function (found) {
    if (found) return done()
    fs.writeFile(file, data, done)
  })
}
`,
    fixed: `const fs = require('fs')
exports.save = function (file, data, done) {
  fs.writeFile(file, data, { flag: 'wx' }, done)
}
`,
  },
  {
    name: 'a row that is looked up and then created',
    check: 'findOne',
    act: 'create',
    race: `export async function register(email: string) {
  const user = await users.findOne({ email })
  if (user) throw new Error('taken')
  await users.create({ email })
}
`,
    fixed: `export async function register(email: string) {
  try {
    await users.create({ email })
  } catch (error) {
    if (error.code === 11000) throw new Error('taken')
    throw error
  }
}
`,
  },
])
