/*
 * Plain JavaScript that any Node can parse: an old one ends with a sentence instead of a stack trace. The npm scripts
 * import it first.
 */
if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `Dossier needs Node 24 or newer, and this is ${process.version}. On Linux "npm ci" brings the right one along, and the npm scripts use it; elsewhere install Node 24.\n`,
  )
  process.exit(1)
}
