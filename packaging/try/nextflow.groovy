// Runs examples/nextflow/main.nf where Nextflow cannot be had: as much of its language as that file uses, one task after the
// other, each in a directory of its own with its inputs as links. Usage: groovy nextflow.groovy MAIN.NF WORK --name value …
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.Paths

/** Items that flow between processes. */
class Channel {
    List items
    static Channel of(Object... given) { new Channel(items: given.collectMany { it instanceof Range ? it as List : [it] }) }
    Channel map(Closure change) { new Channel(items: items.collect(change)) }
    Channel collect() { new Channel(items: [items]) }
}

/** Parameters: what the command line says wins over what the file assigns. */
class Params extends LinkedHashMap<String, Object> {
    private final Set<String> given = []
    void give(String name, Object value) { super.put(name, value); this.@given << name }
    Object put(String name, Object value) { name in this.@given ? null : super.put(name, value) }
}

/** One task of a process: the closure of the process is evaluated with its inputs, and gives the script. */
class Task {
    List values
    Map bound = [:]
    List<Path> staged = []
    String pattern
    Map publish
    Params params
    Map task = [cpus: 1]

    def tag(text) {}
    def cpus(number) { task.cpus = number }
    def errorStrategy(text) {}
    def maxRetries(number) {}
    def publishDir(Map how, String where) { publish = how + [where: where] }
    def tuple(Object... parts) {}
    def val(name) { bound[name] = values.remove(0) }
    def path(what) {
        if (!(bound.containsKey(what)) && values) {
            def value = values.remove(0)
            def files = (value instanceof List ? value.flatten() : [value]) as List<Path>
            staged += files
            bound[what] = files*.fileName.join(' ')
        } else {
            pattern = what.toString()
        }
    }
    // A name that has no value yet stands for itself: it is being declared.
    def propertyMissing(String name) { bound.containsKey(name) ? bound[name] : name }

    List<Path> run(String name, Path work, Closure body) {
        body.delegate = this
        body.resolveStrategy = Closure.DELEGATE_FIRST
        def script = body.call().toString()
        Path here = Files.createTempDirectory(work, name)
        staged.each { Files.createSymbolicLink(here.resolve(it.fileName), it.toAbsolutePath()) }
        here.resolve('.command.sh').toFile().text = script
        def process = new ProcessBuilder('bash', '-ue', '.command.sh').directory(here.toFile()).inheritIO().start()
        if (process.waitFor() != 0) throw new IllegalStateException("${name} failed: ${script.trim()}")
        def base = pattern.contains('/') ? here.resolve(pattern).parent : here
        def made = []
        Files.newDirectoryStream(base, Paths.get(pattern).fileName.toString()).withCloseable { found -> found.each { made << it } }
        if (!made) throw new IllegalStateException("${name} made no ${pattern}")
        if (publish) made.each { copy(it, here.relativize(it).toString()) }
        made
    }

    private void copy(Path from, String name) {
        def to = Paths.get(publish.where).resolve(publish.saveAs ? publish.saveAs(name) : name)
        Files.createDirectories(to.parent)
        assert ['cp', '-r', from.toString(), to.toString()].execute().waitFor() == 0
    }
}

/** The statements of the file itself. */
abstract class Engine extends Script {
    Map<String, Closure> processes = [:]
    def process(definition) {}
    def workflow(Closure body) { body.call() }
    def tuple(Object... parts) { parts as List }
    def error(text) { throw new IllegalStateException(text) }
    def file(Map options, name) {
        def path = Paths.get(name.toString())
        if (options.checkIfExists && !Files.exists(path)) error("there is no ${name}")
        path
    }
    def invokeMethod(String name, Object given) {
        def arguments = given as List
        if (name != name.toUpperCase()) return super.invokeMethod(name, given)
        if (arguments[0] instanceof Closure) return processes[name] = arguments[0]
        if (!processes.containsKey(name)) throw new MissingMethodException(name, getClass(), given as Object[])
        def channel = arguments.find { it instanceof Channel }
        new Channel(items: channel.items.collect { item ->
            // A tuple brings several values, a list of files is one.
            def brought = item instanceof List && !(item[0] instanceof Path) ? item : [item]
            def values = arguments.collectMany { it.is(channel) ? brought : [it] }
            def made = new Task(values: values, params: binding.params).run(name, binding.work, processes[name].clone() as Closure)
            made.size() == 1 ? made[0] : made
        })
    }
}

def words = args as List
def params = new Params()
for (int at = 2; at < words.size(); at += 2) {
    def value = words[at + 1]
    params.give(words[at].substring(2), value.isInteger() ? value as int : value)
}
def configuration = new org.codehaus.groovy.control.CompilerConfiguration(scriptBaseClass: Engine.name)
def binding = new Binding(params: params, nextflow: [enable: [:]], Channel: Channel, work: Paths.get(words[1]))
new GroovyShell(Engine.classLoader, binding, configuration).evaluate(new File(words[0]))
