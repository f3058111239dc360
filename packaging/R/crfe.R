# crfe-tui from R: runs the program and returns its results as data frames. Base R only: source("crfe.R").
#
#   run <- crfe_run(heart, splits = 20)          # a data frame or a file; options of `crfe-tui run`, with _ for -
#   run$selected; run$ranking; run$metrics       # the list, and tables as data frames; cat(run$summary)
#   model <- crfe_fit(heart, model = "M.json")
#   crfe_predict(model, new_rows)                # prediction sets and p-values, a row for each new row
#   crfe_read("RUN")                             # a run that was made elsewhere
#
# The program is looked for on PATH, or is the file that options(crfe.program = ) names. Settings come from the arguments alone:
# CRFE_ variables and the configuration file are ignored. What goes wrong is an error of class crfe_error with the program's
# sentence and its exit code in $code.

# Runs the selection; returns what crfe_read() returns. Without `out`, the run is in a temporary directory of this session.
crfe_run <- function(table, ..., out = tempfile("crfe-run-")) {
  file <- crfe_file(table)
  if (!identical(file, table)) on.exit(unlink(file))
  crfe_call(c("run", file, "--quiet", paste0("--out=", out), crfe_flags(list(...))))
  crfe_read(out)
}

# A finished run: its directory, the selected features, the summary as text, and every table as a data frame.
crfe_read <- function(directory) {
  files <- list.files(directory, "\\.csv(\\.gz)?$", full.names = TRUE)
  if (!file.exists(file.path(directory, "summary.txt"))) {
    crfe_stop(sprintf("%s holds no tables; make them with: crfe-tui report %s", directory, directory), 3L)
  }
  tables <- lapply(files, crfe_table)
  names(tables) <- sub("\\.csv(\\.gz)?$", "", basename(files))
  text <- function(name) readLines(file.path(directory, name), encoding = "UTF-8", warn = FALSE)
  selected <- scan(file.path(directory, "selected.txt"), "", sep = "\n", quote = "\"", quiet = TRUE, encoding = "UTF-8")
  c(list(directory = directory, selected = selected, summary = paste0(text("summary.txt"), collapse = "\n")), tables)
}

# Selects, fits and calibrates a model for new rows; returns its path.
crfe_fit <- function(table, ..., model) {
  file <- crfe_file(table)
  if (!identical(file, table)) on.exit(unlink(file))
  crfe_call(c("fit", file, "--quiet", paste0("--model=", model), crfe_flags(list(...))))
  model
}

# Prediction set, p-values, confidence and flags of each new row.
crfe_predict <- function(model, table, ...) {
  file <- crfe_file(table)
  predictions <- tempfile(fileext = ".csv")
  on.exit(unlink(c(predictions, if (!identical(file, table)) file)))
  crfe_call(c("predict", model, file, "--quiet", paste0("--out=", predictions), crfe_flags(list(...))))
  answer <- crfe_table(predictions)
  for (column in c("set", "flags")) answer[[column]] <- ifelse(is.na(answer[[column]]), "", answer[[column]])
  answer
}

# Calls the program with these arguments and no settings of the environment; returns its standard output.
crfe_call <- function(arguments) {
  program <- getOption("crfe.program", Sys.which("crfe-tui")[[1]])
  if (!nzchar(program)) crfe_stop("crfe-tui is not on PATH; install it, or name it with options(crfe.program = )", 127L)
  said <- tempfile()
  on.exit(unlink(said))
  set <- grep("^CRFE_", names(Sys.getenv()), value = TRUE)
  clean <- c(rbind(rep("-u", length(set)), set), "CRFE_CONFIG=/dev/null", program)
  output <- suppressWarnings(system2("env", shQuote(c(clean, arguments)), stdout = TRUE, stderr = said))
  code <- attr(output, "status")
  if (is.null(code)) return(output)
  lines <- readLines(said, encoding = "UTF-8", warn = FALSE)
  first <- grep("^(crfe-tui|error): ", lines)
  sentence <- sub("^(crfe-tui|error): ", "", if (length(first)) lines[first[1]] else paste(lines, collapse = " "))
  if (code == 4L) warning(sentence, call. = FALSE) else crfe_stop(sentence, code)
  output
}

crfe_stop <- function(sentence, code) {
  stop(structure(class = c("crfe_error", "error", "condition"), list(message = sentence, call = NULL, code = code)))
}

# list(cal_size = 0.4, mondrian = TRUE, keep = c("age", "sex")) as --cal-size=0.4 --mondrian --keep=age,sex.
crfe_flags <- function(options) {
  flag <- function(name) {
    value <- options[[name]]
    option <- paste0("--", gsub("_", "-", name))
    if (is.null(value) || identical(value, FALSE)) return(character())
    if (isTRUE(value)) return(option)
    if (is.numeric(value)) value <- format(value, digits = 15, scientific = FALSE, trim = TRUE, drop0trailing = TRUE)
    quoted <- ifelse(grepl("[,\"]", value) & length(value) > 1, paste0("\"", gsub("\"", "\"\"", value), "\""), value)
    paste0(option, "=", paste(quoted, collapse = ","))
  }
  unlist(lapply(names(options), flag))
}

# A data frame as a temporary file, without row names; a path as it is.
crfe_file <- function(table) {
  if (is.character(table)) return(table)
  file <- tempfile("crfe-table-", fileext = ".csv")
  utils::write.csv(format_exactly(table), file, row.names = FALSE, na = "", fileEncoding = "UTF-8")
  file
}

# Numbers with 17 digits where 15 do not read back as the same number.
format_exactly <- function(table) {
  exact <- vapply(table, is.double, TRUE)
  table[exact] <- lapply(table[exact], function(x) {
    short <- formatC(x, digits = 15, format = "g")
    same <- !is.na(x) & suppressWarnings(as.double(short)) == x
    ifelse(is.na(x), NA, ifelse(same, short, formatC(x, digits = 17, format = "g")))
  })
  table
}

# A table of the program: only the empty cell is missing, and names stay as they are.
crfe_table <- function(file) {
  words <- c("method", "method_a", "method_b", "feature", "class", "set", "id", "features", "removed", "runner_up", "predicted", "flags")
  header <- names(utils::read.csv(file, nrows = 1, check.names = FALSE))
  classes <- ifelse(header %in% words, "character", NA)
  utils::read.csv(file, check.names = FALSE, na.strings = "", colClasses = classes, encoding = "UTF-8")
}
