# Tests of crfe.R: the same bytes as the command line, errors as conditions. Usage: Rscript test.R PROGRAM DATA
program <- commandArgs(TRUE)[1]
data <- commandArgs(TRUE)[2]
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
source(file.path(here, "crfe.R"))
options(crfe.program = program)
passed <- 0L
failed <- 0L
test <- function(name, body) {
  outcome <- tryCatch(if (isTRUE(body)) "passed" else paste("FAILED:", format(body)), error = function(e) paste("FAILED:", conditionMessage(e)))
  cat(sprintf("  %s: %s\n", sub(":.*", "", outcome), paste(name, sub("^[^:]*:? ?", "", outcome))))
  if (outcome == "passed") passed <<- passed + 1L else failed <<- failed + 1L
}
refused <- function(body) tryCatch({ body; NULL }, crfe_error = identity)
shell <- function(...) system2(program, shQuote(c(...)), stdout = TRUE)
heart_file <- file.path(data, "heart.csv")
heart <- read.csv(heart_file, check.names = FALSE)
quick <- list(splits = 3, validate = "none", permutations = "none")
flags <- c("--splits", "3", "--validate", "none", "--permutations", "none", "--quiet")

reference <- tempfile("reference")
invisible(shell("run", heart_file, "--out", reference, flags))
run <- do.call(crfe_run, c(list(heart_file), quick))
same <- function(name) identical(readLines(file.path(run$directory, name)), readLines(file.path(reference, name)))
test("run gives the files of the command", all(vapply(c("ranking.csv", "metrics.csv", "selection.csv", "selected.txt", "summary.json"), same, TRUE)))
test("the list is selected.txt", identical(run$selected, readLines(file.path(reference, "selected.txt"))))
test("tables are data frames", is.data.frame(run$ranking) && identical(names(run$ranking), c("method", "split", "feature", "rank")) && nrow(run$ranking) == 2 * 3 * 13)
test("ranks count from one", identical(sort(run$ranking$rank[run$ranking$method == "crfe" & run$ranking$split == 0]), 1:13))
test("coverage is a share", all(run$metrics$coverage >= 0 & run$metrics$coverage <= 1))
test("the summary is text", grepl("CRFE: [0-9]+ features", run$summary))
test("read takes a run made elsewhere", identical(crfe_read(reference)$ranking, run$ranking))

framed <- do.call(crfe_run, c(list(heart), quick))
test("a data frame gives the tables of its file", identical(framed$metrics, run$metrics) && identical(framed$ranking, run$ranking))
set.seed(1)
exact <- data.frame(a = rnorm(5) / 3, b = c(NA, 1e-300, 0.1, 1 / 3, 1e22), c = 1:5, d = c("x", NA, "y,z", "\"q\"", "w"))
again <- read.csv(crfe_file(exact), na.strings = "")
test("numbers of a data frame keep every bit, gaps stay gaps", identical(again$a, exact$a) && identical(again$b, exact$b) && identical(again$d, exact$d))

model <- do.call(crfe_fit, c(list(heart_file, model = tempfile(fileext = ".json")), quick))
invisible(shell("fit", heart_file, "--model", file.path(dirname(model), "other.json"), flags))
test("fit gives the file of the command", identical(readLines(model), readLines(file.path(dirname(model), "other.json"))))
new_rows <- heart[seq(1, nrow(heart), 10), ]
predicted <- crfe_predict(model, new_rows, epsilon = 0.2)
test("one prediction for each row", nrow(predicted) == nrow(new_rows))
sets <- apply(predicted[c("p_diseased", "p_healthy")] > 0.2, 1, function(inside) paste(c("diseased", "healthy")[inside], collapse = ";"))
test("sets hold the classes with p above epsilon", identical(unname(sets), predicted$set))

unknown <- refused(crfe_run(heart_file, target = "nobody"))
test("an unknown column is an error with the sentence and the code", grepl("names the column 'nobody', which does not exist", conditionMessage(unknown)) && unknown$code == 2L)
absent <- refused(crfe_run("nowhere.csv"))
test("a missing file is an error", grepl("nowhere.csv: there is no such file", conditionMessage(absent)) && absent$code == 3L)
test("a directory without tables is refused", grepl("crfe-tui report", conditionMessage(refused(crfe_read(tempdir())))))
options(crfe.program = "")
test("without the program the remedy is named", grepl("install it", conditionMessage(refused(crfe_run(heart_file)))))
options(crfe.program = program)
Sys.setenv(CRFE_SPLITS = "7")
test("the environment sets nothing", max(do.call(crfe_run, c(list(heart_file), quick[-1], splits = 2))$ranking$split) == 1)
Sys.unsetenv("CRFE_SPLITS")
test("options become flags", identical(
  crfe_flags(list(cal_size = 0.4, mondrian = TRUE, early = FALSE, keep = c("a", "b, c"), splits = 100000)),
  c("--cal-size=0.4", "--mondrian", "--keep=a,\"b, c\"", "--splits=100000")
))
cat(sprintf("R: %d passed, %d failed\n", passed, failed))
quit(status = as.integer(failed > 0))
